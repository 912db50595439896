#!/bin/sh
# Evaluate a planner from any pipeline, in the folder that contains PlanArena. Variables:
#   PLANARENA_URL    the site                         PLANARENA_TOKEN  a token with the scopes read and submit
#   PLANNER          a URL or a bundled planner       PLANNER_NAME     its name on the boards
#   BUILD            name of the build, the same when the build is retried
#   SUITE, FAIL_UNDER, PYTHON  optional
set -u

"${PYTHON:-python3}" -m evaluator.client submit \
    --name "$PLANNER_NAME" --planner "$PLANNER" --suite "${SUITE:-openagi}" \
    --idempotency-key "$BUILD" \
    --wait --fail-under "${FAIL_UNDER:-overall=0.40}" \
    --junit out.xml --output out.json
code=$?

case $code in
    0) echo 'The planner is good enough.' ;;
    1) echo 'The planner is below the threshold: see out.json.' ;;
    2) echo 'The command or the token is wrong: see above.' ;;
    3) echo 'The planner did not answer as planner/1 wants: see above and the page of the evaluation.' ;;
    *) echo 'The planner was not measured, which is not its fault. Run this again: it goes on where it stopped.' ;;
esac
exit $code
