package bounds

import (
	"errors"
	"math"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// arithmetic is the functions whose numbers have bounds, and whose results need none.
var arithmetic = []string{
	"abs", "bits.and", "bits.negate", "bits.or", "bits.rsh", "bits.xor", "ceil", "div", "floor",
	"format_int", "minus", "mul", "plus", "rem", "round",
}

func registerCosts() {
	register(numbers, arithmetic...)
	register(list, "max", "min", "sum")
	register(numberRange, "numbers.range", "numbers.range_step")
	register(units, "units.parse", "units.parse_bytes")

	register(times(2), "base64.encode", "base64url.encode", "base64url.encode_no_pad", "hex.encode", "glob.quote_meta")
	register(times(1), "walk", "json.filter", "json.remove", "object.union", "object.union_n")
	register(times(3), "urlquery.encode", "urlquery.encode_object")
	register(times(6), "json.marshal", "internal.template_string")
	register(times(10), "time.format")
	register(times(termBytes), "json.unmarshal", "json.is_valid", "urlquery.decode_object", "io.jwt.decode")
	register(concat, "concat")
	register(elements, "array.concat", "array.flatten")
	register(sort, "sort")
	register(format, "sprintf")
	register(replace, "replace")
	register(replaceN, "strings.replace_n")
	register(split, "split", "strings.split_n")

	register(product, "indexof_n", "strings.any_prefix_match", "strings.any_suffix_match", "trim", "trim_left", "trim_right", "object.subset")
	register(glob, "glob.match")
	register(match, "regex.match", "regex.template_match")
	register(find, "regex.find_n", "regex.find_all_string_submatch_n", "regex.split")
	register(regexReplace, "regex.replace")

	register(key, "crypto.x509.parse_certificate_request", "crypto.x509.parse_certificates", "yaml.is_valid", "yaml.marshal", "yaml.unmarshal")
	register(key, "io.jwt.verify_eddsa", "io.jwt.verify_es256", "io.jwt.verify_es384", "io.jwt.verify_es512",
		"io.jwt.verify_ps256", "io.jwt.verify_ps384", "io.jwt.verify_ps512",
		"io.jwt.verify_rs256", "io.jwt.verify_rs384", "io.jwt.verify_rs512")
}

const (
	// elementBytes is about the memory of an element of a list.
	elementBytes = 48
	// termBytes is about the memory of a value for each byte of its text.
	termBytes = 16
)

func text(t *ast.Term) string {
	s, _ := t.Value.(ast.String)
	return string(s)
}

func length(t *ast.Term) float64 { return float64(len(text(t))) }

// numbers bounds the digits of numbers. Arguments of other types cost nothing: sets are
// subtracted in linear time.
func numbers(args []*ast.Term) cost {
	for _, arg := range args {
		if n, ok := arg.Value.(ast.Number); ok && isLong(n) {
			return tooMuch
		}
	}
	return cost{}
}

// isLong reports whether a number has more than maxDigits digits, or an exponent of
// more than maxDigits.
func isLong(n ast.Number) bool {
	if len(n) > maxDigits {
		return true
	}
	if len(n) < 4 {
		return false // an exponent needs more
	}
	_, exponent, ok := strings.Cut(strings.ToLower(string(n)), "e")
	return ok && isLargeExponent(exponent)
}

// isLargeExponent reports whether a decimal exponent is above maxDigits. Text that is not
// a number is not large: the function rejects it.
func isLargeExponent(exponent string) bool {
	value, err := strconv.Atoi(strings.TrimLeft(exponent, "+-0"))
	return errors.Is(err, strconv.ErrRange) || value > maxDigits
}

// list bounds the digits of the numbers in a list.
func list(args []*ast.Term) cost {
	long := false
	check := func(t *ast.Term) {
		n, ok := t.Value.(ast.Number)
		long = long || ok && isLong(n)
	}
	switch list := args[0].Value.(type) {
	case *ast.Array:
		list.Foreach(check)
	case ast.Set:
		list.Foreach(check)
	}
	if long {
		return tooMuch
	}
	return cost{}
}

func sort(args []*ast.Term) cost {
	if c := list(args); c.bytes > 0 {
		return c
	}
	return elements(args)
}

func numberRange(args []*ast.Term) cost {
	if c := numbers(args); c.bytes > 0 {
		return c
	}
	var of [3]float64
	for i, arg := range args[:min(len(args), 3)] {
		n, _ := arg.Value.(ast.Number)
		of[i], _ = n.Float64()
	}
	step := 1.0
	if len(args) > 2 && args[2].Value.Compare(ast.Number("0")) > 0 {
		step = of[2]
	}
	return cost{bytes: (math.Abs(of[0]-of[1])/step + 1) * elementBytes}
}

func units(args []*ast.Term) cost {
	s := strings.ToLower(text(args[0]))
	_, exponent, ok := strings.Cut(s, "e")
	if length(args[0]) > maxDigits || ok && isLargeExponent(strings.TrimRight(exponent, `bikmgtpe"`)) {
		return tooMuch
	}
	return cost{}
}

// times bounds a result that is at most n times as long as the arguments.
func times(n float64) func([]*ast.Term) cost {
	return func(args []*ast.Term) cost {
		total := 0.0
		for _, arg := range args {
			total += size(arg, maxResult)
		}
		return cost{bytes: total * n}
	}
}

func concat(args []*ast.Term) cost {
	count := 0
	switch list := args[1].Value.(type) {
	case *ast.Array:
		count = list.Len()
	case ast.Set:
		count = list.Len()
	}
	return cost{bytes: size(args[1], maxResult) + float64(count)*length(args[0])}
}

// elements bounds a list of the elements of the arguments, and of the lists in them.
func elements(args []*ast.Term) cost {
	total := 0.0
	for _, arg := range args {
		switch list := arg.Value.(type) {
		case *ast.Array:
			total += float64(list.Len())
			list.Foreach(func(t *ast.Term) {
				if inner, ok := t.Value.(*ast.Array); ok {
					total += float64(inner.Len())
				}
			})
		case ast.Set:
			total += float64(list.Len())
		}
	}
	return cost{bytes: total * elementBytes}
}

// maxWidth is the largest width or precision that package fmt takes.
const maxWidth = 1_000_000

// format bounds a formatted text: the format, the widths in it, and the arguments, each
// of which a format with indexes may repeat.
func format(args []*ast.Term) cost {
	layout := text(args[0])
	verbs, width, number := 0.0, 0.0, 0.0
	for i := range len(layout) {
		switch b := layout[i]; {
		case b >= '0' && b <= '9':
			number = min(number*10+float64(b-'0'), maxWidth)
			continue
		case b == '%':
			verbs++
		case b == '*':
			width += maxWidth
		}
		width, number = width+number, 0
	}
	values := size(args[1], maxResult) * 4
	if strings.Contains(layout, "%[") || strings.Contains(layout, "[") && verbs > 1 {
		values *= verbs
	}
	return cost{bytes: float64(len(layout)) + width + values}
}

// replace bounds strings.ReplaceAll(s, old, new).
func replace(args []*ast.Term) cost {
	s, before, after := length(args[0]), length(args[1]), length(args[2])
	return cost{bytes: s + (s/max(before, 1)+1)*after}
}

func replaceN(args []*ast.Term) cost {
	longest := 0.0
	if patterns, ok := args[0].Value.(ast.Object); ok {
		patterns.Foreach(func(_, value *ast.Term) { longest = max(longest, length(value)) })
	}
	s := length(args[1])
	return cost{bytes: s + (s+1)*longest + size(args[0], maxResult)}
}

func split(args []*ast.Term) cost {
	return cost{bytes: length(args[0]) + (length(args[0])/max(length(args[1]), 1)+1)*elementBytes}
}

// product bounds functions that compare each part of one argument with each of the other.
func product(args []*ast.Term) cost {
	return cost{steps: size(args[0], maxResult) * size(args[1], maxResult)}
}

// glob bounds a glob, which is matched with backtracking: each wildcard but the last is
// tried at each character after the one before.
func glob(args []*ast.Term) cost {
	pattern, n := text(args[0]), length(args[2])
	steps := 1.0
	for i := range strings.Count(pattern, "*") + strings.Count(pattern, "{") - 1 {
		steps *= max(n/float64(i+1), 1)
	}
	return cost{steps: max(steps, n)}
}

// match bounds a regular expression: each character of the text may take a step for
// each instruction.
func match(args []*ast.Term) cost {
	return cost{steps: instructions(text(args[0])) * length(args[1])}
}

// find bounds a list of all matches with all groups.
func find(args []*ast.Term) cost {
	c := match(args)
	groups := float64(strings.Count(text(args[0]), "(")) + 1
	c.bytes = (length(args[1]) + 1) * groups * elementBytes
	return c
}

// regexReplace bounds the text in which each match is replaced. $0 stands for the match.
func regexReplace(args []*ast.Term) cost {
	c := match([]*ast.Term{args[1], args[0]})
	c.bytes = (length(args[0]) + 1) * (length(args[2]) + 1)
	return c
}

// programs keeps the lengths of compiled expressions with repetitions.
var programs struct {
	sync.Mutex
	lengths map[string]float64
}

const maxPrograms = 10_000

// instructions is about the number of instructions of a regular expression.
func instructions(pattern string) float64 {
	if !strings.Contains(pattern, "{") {
		return float64(len(pattern))
	}
	programs.Lock()
	defer programs.Unlock()
	if n, ok := programs.lengths[pattern]; ok {
		return n
	}
	n := float64(len(pattern))
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			n = float64(len(program.Inst))
		}
	}
	if programs.lengths == nil || len(programs.lengths) >= maxPrograms {
		programs.lengths = make(map[string]float64)
	}
	programs.lengths[pattern] = n
	return n
}

func key(args []*ast.Term) cost {
	for _, arg := range args {
		if size(arg, 2*maxKeyBytes) > maxKeyBytes {
			return tooMuch
		}
	}
	return cost{}
}
