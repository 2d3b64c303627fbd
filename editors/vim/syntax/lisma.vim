" Vim syntax for LISMA; written by scripts/gen_editors.py.
if exists("b:current_syntax") | finish | endif
syntax keyword lismaKeyword across after at automaton connect const contact control data delete each else every fmu for friction from function goto ic if include invariant like macro measure part persistent port priority random repeat return set state stop through trigger experiment energy
syntax keyword lismaOperator and implies mod not or xor
syntax keyword lismaEvent unilateral bilateral ordinary shortliving noEvent
syntax keyword lismaFunction abs acos acosh asin asinh atan atan2 atanh ceil clamp cos cosh cot csc ctg delay der erf exp exponential factorial floor gamma hypot ln log log10 max min noise normal post pow pre prod quotient random rem root round sec sign sin sinh sqrt sum table tan tanh tg trunc uniform
syntax keyword lismaConstant pi e g time TIME t t0 true false inf nan
syntax match lismaNumber /\<\d\+\(\.\d*\)\?\([eE][+-]\?\d\+\)\?\|\.\d\+\([eE][+-]\?\d\+\)\?/
syntax region lismaString start=/"/ end=/"/ oneline
syntax region lismaName start=/`/ end=/`/ oneline
syntax match lismaComment /\/\/.*$/
syntax region lismaComment start=/\/\*/ end=/\*\//
highlight default link lismaKeyword Keyword
highlight default link lismaOperator Operator
highlight default link lismaEvent Type
highlight default link lismaFunction Function
highlight default link lismaConstant Constant
highlight default link lismaNumber Number
highlight default link lismaString String
highlight default link lismaName Identifier
highlight default link lismaComment Comment
let b:current_syntax = "lisma"
