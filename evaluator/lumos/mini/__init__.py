"""The suite `lumos-mini`: five groups of tasks in the miniature world, drawn from a seed.

- `draws`: what a group's generator returns, and where its random numbers come from
- `problems`: word problems; `databases`: questions on databases; `encyclopedia`: questions over several articles;
  `shop`: things to buy; `scenes`: questions about pictures
- `tasks`, `environment`, `suite`: the suite
"""
