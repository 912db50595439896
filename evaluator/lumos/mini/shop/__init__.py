"""A shop with a synthetic catalogue: search, result pages, item pages, options, buying. WebShop-style, not WebShop."""
