"""What every screen stands in: header, tabs, body, time bar, keys; and screens whose body is one table or one page."""
