"""The dashboard in a browser: a hardened textual-serve.

Rule: what comes from the network is not trusted until `gate` (Host, Origin) and `logins` (cookie) have let it in, and
reaches the process of a tab as bytes of a terminal only. `server` has the routes, `session` the process of one tab as
the server sees it, `tab_process` that process itself, `page/` what the browser loads. See docs/reference/web.md.
"""
