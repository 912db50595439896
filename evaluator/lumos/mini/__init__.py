"""The suite `lumos-mini`: five groups of tasks in the miniature world, drawn from a seed.

- `draws`: drawn tasks, and the random source
- `problems`: word problems; `databases`: questions on databases; `encyclopedia`: questions over several articles;
  `shop`: purchases; `scenes`: questions about pictures
- `groups`, `environment`, `suite`: the suite
"""
