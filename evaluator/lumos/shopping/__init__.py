"""The suite `lumos-shop`: purchases with the four tools of LUMOS on WebShop (appendices G and J)."""
