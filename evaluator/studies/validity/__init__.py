"""Does the measure measure? Gold plans against changed ones, floors, and image scores that share no training.

Of executed plans, `variants` scores gold plans and changes of them, `images` compares the image score with measures
that were not trained on degradations, and `floors` says what answers without a plan score. Of judged plans, `judged`
compares gold plans with the kinds of damage in `damages`; where plans are executed as well, `execution_agreement` asks
whether those that are judged to solve a request produce good results.
"""
