"""Validity of the measures: gold plans against changed plans, floors, and independent image measures.

For executed plans, `variants` scores gold plans and changes of them, `rivals` searches for plans that beat gold,
`images` compares the image score with measures that were not trained on degradations, and `floors` scores answers
without a plan. For judged plans, `judged` compares gold plans with the kinds of damage in `damages`; `executed_plans`
measures whether plans that are judged to solve a request also produce good results.
"""
