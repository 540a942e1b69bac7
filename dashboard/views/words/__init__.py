"""Words: amounts, names, sentences, command lines, filters, help. Pure."""
