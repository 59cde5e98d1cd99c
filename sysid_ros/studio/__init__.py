"""The operator's page: one folder of recordings and runs, in a browser.

What each step says is made here, as plain values, and by processes beside the server; ``page/``
draws it, and alone imports the library for that.
"""
