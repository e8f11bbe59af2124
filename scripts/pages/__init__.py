"""The pages of docs/reference/, each a function from the code to markdown."""
