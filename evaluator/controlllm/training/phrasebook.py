"""How the things that a request may ask are worded. All sentences are this repository's own.

A pattern begins with what it is: `!` a command, `?` a question, `@` a thing that is wanted, `=` a sentence of its own.
`{in}` and `{img}` speak of the image or the video, by its name or as "it".
"""

from collections.abc import Mapping

_SEEK = "(locate|find|detect|spot|pinpoint|identify|point out|search for|look for)"
_DRAW = (
    "(highlight|mark|outline|frame|emphasise|label|draw a (box|rectangle|border|frame) around"
    "|put a (box|border) around)"
)
_MAKE = "(make|create|produce|generate|draw|compute|extract|get|derive|calculate|prepare)"
_REMOVE = "(remove|erase|delete|get rid of|take out|eliminate|wipe out|take away|drop|clear away)"
_PAINT = "(draw|paint|generate|create|make|produce|render|design|sketch|imagine|visualise)"
_PICTURE = "(picture|image|photo|painting|illustration|drawing|scene|poster|artwork)"
_CHECK = "(check|see|find out|verify|determine|tell me|say|examine|judge|test|decide) (if|whether)"

LOCATE = (
    f"!{_SEEK} (the|a|any|every|all|each) {{thing}} {{in}}",
    f"!{_SEEK} [all] [of] [the] {{things}} {{in}}",
    f"!{_DRAW} (the|every|each|any) {{thing}} {{in}}",
    f"!{_DRAW} [all] [the] {{things}} {{in}}",
    "!show [me] where the {thing} is {in}",
    "!show [me] where the {things} are {in}",
    "!draw the {thing}'s box {in}",
    "@the (position|location|place|bounding box|box|coordinates|whereabouts|region) of the {thing} {in}",
    "@the (position|location|bounding box|box) of the {thing} {in}[,] as a [bounding] box",
    "@(a box|bounding boxes) (around|for) the {thing} {in}",
    "@the (bounding boxes|boxes|positions) of all {things} {in}",
    "?where is the {thing} {in}",
    "?where can I find the {thing} {in}",
    "?where are the {things} {in}",
    "?is there (a|an|any) {coco} {in}",
    "?are there [any] {cocos} {in}",
    "?is (a|an|the) {coco} [visible|present] {in}",
    f"!{_CHECK} there (is|are) (a|an|any|some) {{coco}} {{in}}",
    f"!{_CHECK} there are [any] {{cocos}} {{in}}",
    "=I am looking for the {thing} {in}",
    "=I (cannot|can't) (find|see) the {thing} {in}",
    "!help me find the {thing} {in}",
    "?can you see (a|any|the) {thing} {in}",
    "!put a (border|frame|box) around the {thing} that you (find|see) {in}",
    "!use object detection to find the {thing} {in}",
    "!run detection for {things} {in}",
    "!perform {thing} detection {in}",
)
CONTAIN = (
    "?does {img} (contain|show|have|include|hold|depict|feature) (a|an|any|some|the) {coco}",
    "?does {img} (contain|show|have|include) [any] {cocos}",
    f"!{_CHECK} {{img}} (contains|shows|has|includes|holds|depicts|features) (a|an|any|the) {{coco}}",
    f"!{_CHECK} {{img}} (contains|shows|has|includes) [any] {{cocos}}",
)
CROP = (
    "!crop [out] the {thing} (from {img}|of {img}|{in})",
    "!crop {img} to [the box of] the {thing}",
    "!crop the {thing} {in}",
    "!crop {img} so that (only the {thing} is left|it shows just the {thing})",
    "!trim {img} to the {thing}",
    "!cut {img} (to|down to) the box (of|around) the {thing}",
    "@the part of {img} with the {thing}, cropped to its box",
    "@(a crop|the cropped part|the cropped region|a cropped image) (of|with) the {thing} {in}",
    "!crop [all] [the] {things} {in}",
    "!zoom in on the {thing} {in} and crop it",
    "=I want to see nothing of {img} but the box around the {thing}, so crop it",
)
COUNT = (
    "?how many {things} (are|are there|can be seen|can you see|do you see|are visible|exist|appear) {in}",
    "?how many {things} does {img} (show|have|contain)",
    "!count [up] [all] [the] {things} {in}",
    "!count the number of {things} {in}",
    "@the (number|count|total|quantity|amount|total number) of {things} [visible|present|seen] {in}",
    "?what is the (number|count|total|quantity|total number) of {things} {in}",
    "!(tell me|say|report|find out|state|give) how many {things} (there are|are) {in}",
    "=I (need|want|would like|have) to know how many {things} there are {in}",
    "!do a count of the {things} {in}",
    "!tally the {things} {in}",
    "@the (number|count|total) of {things} that {img} (shows|contains)",
    "!(tell me|say) the number of {things} {in}",
)
RECOGNISE = (
    (
        "!(recognise|recognize|classify|name|list|identify|tell me|enumerate|label) [all|every one of|each of] [the] "
        "(objects|things|items|categories|different objects) (present|shown|seen|visible|) {in}"
    ),
    (
        "?(what|which) (objects|things|items|kinds of things|different objects|categories) (are|are there|can be "
        "seen|are shown|are visible|do you see|can you recognise|are present|appear) {in}"
    ),
    "!classify {img}",
    "!(name|recognise|classify|identify) the [main] (object|thing|subject) (of {img}|{in})",
    "!recognise the object that {img} shows",
    "!(name|recognise|list|recognize) [all] [the|every] (objects|things|object) that {img} (shows|contains|holds)",
    "!(name|recognise|list) what {img} shows",
    "!(recognise|recognize|identify|say) what is {in}",
    "@(the class|the category|the label|the classes|a list of the objects) {in}",
    "@(a classification|an image classification|the category) of {img}",
    "!(perform|run|do) [image] classification on {img}",
    "?what category does {img} belong to",
    "?which class (is|does) {img} (of|belong to|fall into)",
    "!assign {img} (to a category|a label|a class)",
    "!what objects does {img} (show|contain|hold)",
)
RECOGNISE_ONE = (
    "?is there (a|an|any) {category} {in}",
    "?does {img} (contain|show|have|include|depict|feature|hold) (a|an|any) {category}",
    f"!{_CHECK} there is (a|an|any) {{category}} {{in}}",
    f"!{_CHECK} {{img}} (contains|shows|has|includes|depicts) (a|an) {{category}}",
    f"!{_CHECK} (a|an|the) {{category}} is (present|visible|shown) {{in}}",
    "?is (a|an) {category} (present|visible|shown) {in}",
    "?is (this|it|the object) (a|an) {category} {in}",
    "=I (have|need|want) to know (if|whether) {img} (contains|shows|has) (a|an) {category}",
    "?can (a|an) {category} be (seen|found) {in}",
    "?can you see (a|an) {category} {in}",
    "!check {img} for (a|an|the) {category}",
    "?is {img} (a picture|a photo|an image) of (a|an) {category}",
)
ACTION = (
    (
        "?(is|are) (anyone|anybody|somebody|someone|the person|the people|a person|a man|a woman|he|she|they) "
        "{action} {in}"
    ),
    (
        "?does {vid} (show|contain|include|depict|feature) [someone|anyone|somebody|people|something|the action|the "
        "act of] {action}"
    ),
    "?(is there|is there any|do you see) {action} [going on|happening|shown] {in}",
    "!check {vid} for [the action|something] {action}",
    "?is {vid} (about|a video of|showing) {action}",
    f"!{_CHECK} {{action}} (happens|occurs|is shown|can be seen|takes place|is happening|is going on|appears) {{in}}",
    f"!{_CHECK} (someone|anybody|the person|a person|somebody|he|she) is {{action}} {{in}}",
    f"!{_CHECK} {{vid}} (shows|contains|includes|depicts) [the action|someone|something] {{action}}",
    "?can {action} be (seen|found) {in}",
    "?does {action} (happen|occur|take place|appear) {in}",
    "?does (anybody|anyone|somebody|someone) (practise|do|perform|try) {action} {in}",
    "=I wonder if there is any {action} going on {in}",
    "=I (want|need) to know (if|whether) {action} (happens|is shown|occurs) {in}",
    "?is the action {in} {action}",
    "?is {action} the (activity|action) {in}",
    "!watch {vid} and tell me whether {action} happens in it",
    "!look for {action} {in}",
)
ACTIONS = (
    (
        "?(what|which) (action|actions|activity|activities|motion|event|movement) (can be seen|is shown|are "
        "shown|happens|happen|takes place|is there|are there|is performed|is taking place|do you see|occurs) {in}"
    ),
    (
        "!(recognise|classify|identify|name|list|tell me|detect|categorise) [all] [the] "
        "(action|actions|activity|activities|motion|movement|event) (shown|performed|taking place|) {in}"
    ),
    "!classify {vid}",
    "?what (is|are) (the person|the people|they|he|she|the man|the woman|somebody) doing {in}",
    "?what (happens|is happening|is going on|moves|goes on) {in}",
    "!(describe|say|tell me|explain) [in a sentence] what (happens|is happening|moves|is going on|is being done) {in}",
    "!(perform|run|do) [video|action] (classification|recognition) on {vid}",
    "@(the category|the class|a classification|the label) of {vid}",
    "?what kind of (action|activity|video) is (shown in|) {vid}",
    "?what is {vid} about",
    "!describe {vid} [in a sentence]",
    "?which category does {vid} belong to",
)
MASK = (
    "!segment [out] (the|every|each|all) {thing} {in}",
    "!segment [all] [of] [the] {things} {in}",
    "@(the|a|its) [segmentation|binary|pixel] mask (of|for) the {thing} {in}",
    "@(the|a) [segmentation] mask of {things} {in}",
    "@the segmentation of the {thing} {in}",
    "!(make|create|produce|generate|compute|extract|return) (a|the) [segmentation] mask (of|for) the {thing} {in}",
    "!make a segmentation mask for the {thing} that {img} shows",
    "!perform (instance|) segmentation of the {thing} {in}",
    "!mask the {thing} {in}",
    "=where {img} shows a {thing}, return its mask",
    "?which pixels (belong to|are) the {thing} {in}",
    "!use segmentation to (find|get|identify) the {thing} {in}",
    "!segment {img} (and give me|for|to get) the {thing}",
    "!trace the [exact] (outline|shape|silhouette) of the {thing} {in} as a mask",
)
SEGMENT = (
    "!segment everything {in}",
    "!segment {img} [completely|as a whole|entirely|into regions|into its parts]",
    "!segment (all objects|the whole image|all things|every region|all the objects|each object|anything) {in}",
    "@the [whole] segmentation [map] of {img}",
    "@a segmentation map (of|for) {img} [with all its segments]",
    "!split {img} into [its] (segments|regions|parts)",
    "!segment everything {in}; labels are not needed",
    "!(perform|run|do|apply) [image] segmentation on {img}",
    "@all (segments|regions) of {img}",
    "!segment {img} without labels",
    "!(make|create|produce|generate|get) [me] (the|a) segmentation [map|image|result] (of|for|from) {img}",
    "!convert {img} (to|into) a segmentation map",
    "!divide {img} into segments",
)
ERASE = (
    f"!{_REMOVE} (the|all|every|any) {{thing}} (from {{img}}|{{in}})",
    f"!{_REMOVE} [all] [the] {{things}} from {{img}}",
    "@{img} without the {thing}",
    "=I (do not|don't) want the {thing} {in}",
    "=the {thing} {in} (is in the way|bothers me|must go|should disappear); please (erase|remove) it",
    "=I want {img} without the {thing}; please erase it",
    "!inpaint the {thing} {in}",
    "!make the {thing} {in} (disappear|vanish)",
    "!edit {img} (so that the {thing} is gone|to remove the {thing})",
    "!replace the {thing} {in} (by|with) [the] background",
    "!fill in the place of the {thing} {in} with background",
    "!clean {img} of the {thing}",
)
ERASE_MASKED = (
    (
        f"!{_REMOVE} from {{img}} (what|whatever|everything that|the region that|all that) (the mask |){{mask}} "
        "(covers|marks|shows|hides)"
    ),
    f"!{_REMOVE} the (region|area|part|object) of {{img}} (masked|covered|marked) by {{mask}}",
    "!inpaint {img} (with|using|by|where) the mask {mask}",
    "!inpaint the masked (area|region) of {img}, the mask is {mask}",
    f"!use [the mask] {{mask}} to {_REMOVE} (something|the object|the thing|a part|an object) from {{img}}",
    "=the mask {mask} covers what I do not want {in}; please remove it",
    f"!{_REMOVE} what is under the mask {{mask}} {{in}}",
    "!fill the region {mask} {in} with background",
    "?with the mask {mask}, can you clean {img}",
)
CUT_OUT = (
    (
        "!(extract|cut out|isolate|separate|single out|lift out|pull out) [only|just] (the|every|all) {thing} (from "
        "{img}|of {img}|{in})"
    ),
    "!(extract|isolate|cut out|separate) [only|just] [all] [the] {things} from {img}",
    "!keep [only|just|nothing but] the {thing} (of {img}|{in}|from {img})",
    "!keep only the {thing} of {img} and (drop its|remove the|delete the) background",
    (
        "!remove the background (of {img}|from {img}|{in})[,] (and keep|leaving|but leave|and leave) (only|just) the "
        "{thing}"
    ),
    "!cut the {thing} out of {img} [along its outline] [and leave all the rest away]",
    "!remove everything (but|except|other than|besides) the {thing} (from {img}|{in})",
    "@(only|just|nothing but) the {thing} (from {img}|of {img}|{in})[, cut out]",
    "!separate the {thing} {in} from (the|its) background",
    "!keep only the {thing} of {img}, by its mask, and make the rest black",
    "!make (everything|all) but the {thing} {in} (black|transparent|disappear)",
    "@a (cutout|cut-out) of the {thing} {in}",
    "!take the {thing} out of {img} [and put it on a blank background]",
)
GENERATE = (
    (
        f"!{_PAINT} [me] (a|an|the|one|some) [new|beautiful|nice|realistic] {_PICTURE} (of|showing|that "
        f"shows|depicting|with|in which there is|featuring) {{scene}}"
    ),
    f"!{_PAINT} {{scene}}",
    f"@(a|one|an) [new] {_PICTURE} (of|showing|with|depicting) {{scene}}",
    f"=I want to see (a|an) {_PICTURE} of {{scene}}",
    "=show me {scene}",
    "?can you (draw|paint|imagine|generate|create) {scene}",
    f"!turn (this|the following) (description|text|prompt) into (a|an) {_PICTURE}: {{scene}}",
    f"!{_PAINT} (a|an) [new] {_PICTURE}: {{scene}}",
    f"!use the (words|prompt|text) {{scene}} to {_PAINT} (a|an) {_PICTURE}",
    f"!make (a|an) {_PICTURE} in which one sees {{scene}}",
    f"=the {_PICTURE} (I want|that I need|to draw) shows {{scene}}",
)
SIMILAR = (
    (
        f"!{_PAINT} [me] (a|an|another|one more) [new] {_PICTURE} (similar to|like|that resembles|that looks "
        f"like|which is close to|resembling|in the manner of) {{img}}"
    ),
    f"!{_PAINT} (a variation|another version|a variant|variations) of {{img}}",
    f"@(a|another) [new] {_PICTURE} (similar to|like) {{img}}",
    "@(a variation|a variant|a new version) of {img}",
    f"!{_PAINT} a {_PICTURE} (based on|inspired by|after|from) {{img}}",
    "!re-create {img} (in a new way|with changes)",
    f"!take {{img}} and {_PAINT} something (similar|like it|alike)",
    f"!{_PAINT} an image that is similar to {{img}} in its (layout|look|colours|style)",
    f"!use {{img}} as (a model|an inspiration|a reference) for a new {_PICTURE}",
)
_MAP_OF = "{map_name}"
MAKE_MAP = (
    f"!{_MAKE} [me] (the|a|an) {_MAP_OF} (of {{img}}|for {{img}}|from {{img}}|{{in}})",
    f"@(the|a|its) {_MAP_OF} (of|for|from) {{img}}",
    f"!(convert|turn|transform) {{img}} (to|into) (a|an|its|the) {_MAP_OF}",
    f"!from {{img}}, {_MAKE} the {_MAP_OF}",
    f"!process {{img}} so that I get (its|the) {_MAP_OF}",
    "!apply (your|the|a) {map} (model|detector|estimator|filter|tool) to {img}",
    "!(run|do|perform) {map} (detection|estimation|extraction|prediction) on {img}",
    f"?what is the {_MAP_OF} of {{img}}",
    f"!(detect|show|estimate|find|predict|trace) the {_MAP_OF} (of {{img}}|{{in}})",
    "!process {img} so that I get its {map} (output|result)",
    "@the {map} (result|output|image) (for|of) {img}",
)
FOLLOW_GIVEN = (
    (
        f"!{_PAINT} (a|an) [new] {_PICTURE} (of|that shows|showing|with) {{scene}} (that follows|along|from|based "
        f"on|guided by|according to|conditioned on|using|with) (the|this) {_MAP_OF} {{guide}}"
    ),
    (
        f"!(using|with|based on|given|along|from|following|according to) (the|this) {_MAP_OF} {{guide}}, {_PAINT} "
        f"(a|an) [new] {_PICTURE} (of|that shows|showing) {{scene}}"
    ),
    f"!{_PAINT} {{scene}} (using|with|from|based on) (the|this) {_MAP_OF} {{guide}}",
    f"!use the {_MAP_OF} {{guide}} to {_PAINT} (a|an) [new] {_PICTURE} (of|that shows|showing) {{scene}}",
    f"!using the {_MAP_OF} {{guide}}, {_PAINT} a new image of this: {{scene}}",
    f"=(here is|this is|I have) (a|the) {_MAP_OF}: {{guide}}. {_PAINT} (a|an) {_PICTURE} of {{scene}} from it",
    f"!take {{guide}}, (which is|) a {_MAP_OF}, and {_PAINT} {{scene}} [with it]",
)
FOLLOW_MADE = (
    f"!take the {_MAP_OF} of {{img}} and {_PAINT} (a|an) [new] {_PICTURE} [with it] (of|that shows|showing) {{scene}}",
    (
        f"!(with|using|based on|along|from|following) the {_MAP_OF} of {{img}}, {_PAINT} (a|an) [new] {_PICTURE} "
        f"(of|that shows|showing) {{scene}}"
    ),
    f"!use the {_MAP_OF} of {{img}} to {_PAINT} (a|an) [new] {_PICTURE} (of|that shows|showing|with) {{scene}}",
    (
        f"!{_PAINT} (a|an) {_PICTURE} of {{scene}} (based on|guided by|that follows|with|using|conditioned on|along) "
        f"the {_MAP_OF} (of|from) {{img}}"
    ),
    f"!{_MAKE} the {_MAP_OF} of {{img}}[,] and (then |)use it to {_PAINT} (a|an) {_PICTURE} of {{scene}}",
    (
        f"!{_MAKE} the {_MAP_OF} of {{img}}[,] and then {_PAINT} (a|an) {_PICTURE} of {{scene}} (from it|with "
        "it|based on it)"
    ),
    f"!take the {_MAP_OF} of {{img}} and {_PAINT} a new image with it: {{scene}}",
    f"!along the {_MAP_OF} of {{img}}, {_PAINT} a new image of the following. {{scene}}",
    f"!with the {_MAP_OF} of {{img}}, {_PAINT} a new image: {{scene}}",
    f"!keep the {{map}} of {{img}} but {_PAINT} {{scene}}",
)
DESCRIBE = (
    "!describe {img} [in detail|for somebody who cannot see it|in one sentence|in a few words|thoroughly]",
    "@(a|an) [detailed|short|long|accurate] (description|caption) (of|for) {img}",
    "!(write|make|come up with) (a|an) [short|good] (caption|description) (for|of) {img}",
    "!caption {img}",
    "!tell me what {img} (shows|is about) in detail",
    "!explain {img} [to me] [in detail]",
    "?what does {img} show? Give me a caption",
)
MAP_NAMES: Mapping[str, str] = {
    "edge": "(edge map|edges|canny edges|edge image|edge detection|edge result|canny map)",
    "line": "(line map|straight lines|lines|line drawing|line detection|line image|mlsd lines)",
    "hed": "(hed map|soft edges|hed edges|hed boundary|hed result|hed image|hed output)",
    "scribble": "(scribble map|scribble|rough sketch|scribble image|scribbled version|scribble drawing)",
    "pose": "(pose map|pose|poses|human pose|skeleton|body pose|pose image)",
    "depth": "(depth map|depth|depths|depth image|depth estimation|depth information)",
    "normal": "(normal map|surface normals|normals|normal image|normal vectors)",
    "segmentation": "(segmentation map|segmentation|segments|segment map|segmentation image)",
}
