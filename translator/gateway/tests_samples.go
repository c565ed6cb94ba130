package gateway

import (
	"encoding/base64"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// truth is what a condition comes to. They are in the order in which a condition that must
// hold beside others settles them: one that does not hold, then one that fails.
type truth int

const (
	no truth = iota
	failed
	yes
)

const (
	// maxSamples bounds the rows of one rule.
	maxSamples = 60
	// maxConstants bounds the constants of one expression that its values are drawn from.
	maxConstants = 4
)

// slot is a path that conditions read, and values that they tell apart; nil is a value that
// is absent.
type slot struct {
	steps  []string
	values []any
}

// sampler knows what to ask of conditions and values.
type sampler struct {
	slots   []slot
	samples map[string]*cel.Sample // by the text of an expression
}

// read adds what an expression reads. It returns false if cel-go may evaluate it differently.
func (s *sampler) read(text string) bool {
	sample, ok := cel.NewSample(text, cel.Gateway)
	if !ok {
		return false
	}
	s.samples[text] = sample
	var values []any
	for _, constant := range sample.Constants[:min(len(sample.Constants), maxConstants)] {
		switch constant := constant.(type) {
		case string:
			values = append(values, constant, []string{constant}, constant+"z", map[string]any{constant: true}, map[string]any{"writ-other": constant})
		case int64:
			values = append(values, constant, constant+1, constant-1)
		case bool, float64:
			values = append(values, constant)
		}
	}
	for _, path := range sample.Paths {
		if parent := path[:len(path)-1]; len(parent) > 1 { // where an object is expected
			s.add(parent, nil, "writ-other", []string{"writ-other"})
		}
		s.add(path, append(values, "writ-other", []string{"writ-other"}, true, nil)...)
	}
	return true
}

func (s *sampler) add(steps []string, values ...any) {
	at := slices.IndexFunc(s.slots, func(other slot) bool { return slices.Equal(other.steps, steps) })
	if at < 0 {
		s.slots = append(s.slots, slot{steps: steps})
		at = len(s.slots) - 1
	}
	for _, value := range values {
		same := func(other any) bool { return regotext.Constant(other) == regotext.Constant(value) }
		if !slices.ContainsFunc(s.slots[at].values, same) {
			s.slots[at].values = append(s.slots[at].values, value)
		}
	}
}

// conditions adds what conditions read. It returns false if one of them cannot be sampled: one
// of an element within a list's element, or a pattern, which another policy may replace.
func (s *sampler) conditions(list []tables.RequestCondition) bool {
	for i := range list {
		switch c := &list[i]; {
		case c.Predicate != "":
			if !s.read(c.Predicate) {
				return false
			}
		case c.Pattern != "" || !s.conditions(slices.Concat(c.All, c.Any)):
			return false
		case c.Comparison != nil:
			if !isPlain(&c.Comparison.Path) {
				return false
			}
			s.addPath(&c.Comparison.Path, varied(c.Comparison)...)
		}
	}
	return true
}

// addPath adds the path of a selector: that of a list with each of the values, if the path
// leads to an element of one.
func (s *sampler) addPath(path *tables.SelectorPath, values ...any) {
	last := len(path.Steps) - 1
	at, isIndex := indexOf(path.Steps[last])
	if !isIndex {
		s.add(path.Steps, values...)
		return
	}
	for _, value := range values {
		if text, isText := value.(string); isText {
			s.add(path.Steps[:last], append(slices.Repeat([]string{"writ-other"}, at), text))
		}
	}
	s.add(path.Steps[:last], []string{}, "writ-other", nil)
}

// isPlain reports whether a path leads to a member of objects, or to one of the first elements
// of a list in them.
func isPlain(path *tables.SelectorPath) bool {
	for i, step := range path.Steps {
		if at, isIndex := indexOf(step); isIndex && (i == 0 || i < len(path.Steps)-1 || at > 8) {
			return false
		}
	}
	return len(path.Steps) > 0
}

// indexOf returns the number of a step that may be an index.
func indexOf(step string) (at int, isIndex bool) {
	at, err := strconv.Atoi(step)
	return at, err == nil && strings.Trim(step, "0123456789") == ""
}

// varied returns values that a comparison tells apart, and nil for none.
func varied(c *tables.Comparison) []any {
	sample := c.Value
	if c.Operator == "matches" {
		sample = emit.SampleExpression(c.Value)
	}
	values := []any{unmodified(sample, c.Path.Modifiers), sample, sample + "z", "z" + sample, "writ-other", nil}
	if c.Path.Length {
		values = append(values, listOf(c.Value), []string{"writ-other"})
	}
	if c.Operator == "incl" || c.Operator == "excl" {
		values = append(values, []string{"writ-other", sample}, []string{"writ-other"})
	}
	return values
}

// unmodified returns a text that modifiers are likely to convert to another one.
func unmodified(text string, modifiers []tables.Modifier) string {
	for _, m := range slices.Backward(modifiers) {
		switch {
		case m.Name == "extract":
			text = strings.Repeat("writ"+m.Sep, m.Pos) + text
		case m.Name == "case" && m.Text == "upper":
			text = strings.ToLower(text)
		case m.Name == "case":
			text = strings.ToUpper(text)
		case m.Name == "replace" && m.New != "":
			text = strings.ReplaceAll(text, m.New, m.Old)
		case m.Name == "base64" && m.Text == "decode":
			text = base64.StdEncoding.EncodeToString([]byte(text))
		case m.Name == "strip":
			text += "\n"
		}
	}
	return text
}

// listOf returns a list of a length, an empty one for a text that is not a small number.
func listOf(length string) []string {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > 8 {
		n = 0
	}
	return slices.Repeat([]string{"writ-other"}, n)
}

// sampleConditions returns rows for the values that conditions compare: when are the
// conditions under which a rule applies, patterns those that must hold.
func sampleConditions(when, patterns []tables.RequestCondition, want func(applies, holds truth) []any) map[string]ruleRow {
	s := &sampler{samples: make(map[string]*cel.Sample)}
	if !s.conditions(when) || !s.conditions(patterns) {
		return nil
	}
	both := slices.Concat(when, patterns)
	return s.rows(func(input map[string]any) int {
		held := 0
		for i := range both {
			held += int(s.holds(&both[i], input))
		}
		return held
	}, func(input map[string]any) []any { return want(s.all(when, input), s.all(patterns, input)) })
}

// rows returns what a rule makes of requests: of one for which the conditions are as true as
// can be, with as few members as it needs, and of the request without any, each with one value
// changed.
func (s *sampler) rows(rank func(input map[string]any) int, want func(input map[string]any) []any) map[string]ruleRow {
	best := make([]any, len(s.slots))
	for range 2 {
		for i, slot := range s.slots {
			for _, value := range slot.values {
				changed := slices.Clone(best)
				if changed[i] = value; rank(s.input(changed)) > rank(s.input(best)) {
					best = changed
				}
			}
		}
	}
	for i := range best {
		changed := slices.Clone(best)
		if changed[i] = nil; rank(s.input(changed)) == rank(s.input(best)) {
			best = changed
		}
	}
	rows := make(map[string]ruleRow)
	add := func(values []any) {
		input := s.input(values)
		if wanted := want(input); wanted != nil && len(rows) < maxSamples {
			rows[s.note(values)] = ruleRow{Input: input, Want: wanted}
		}
	}
	for _, base := range [][]any{best, make([]any, len(s.slots))} {
		add(base)
		for i, slot := range s.slots {
			for _, value := range slot.values {
				changed := slices.Clone(base)
				changed[i] = value
				add(changed)
			}
		}
	}
	return rows
}

// input returns the state of a request with the values of the slots. A path that leads
// through the value of another one is left out.
func (s *sampler) input(values []any) map[string]any {
	input := make(map[string]any)
	for i, slot := range s.slots {
		if values[i] != nil {
			setPath(input, slot.steps, values[i])
		}
	}
	return input
}

func (s *sampler) note(values []any) string {
	var parts []string
	for i, slot := range s.slots {
		if values[i] != nil {
			parts = append(parts, strings.Join(slot.steps, ".")+": "+regotext.Constant(values[i]))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func setPath(input map[string]any, steps []string, value any) {
	for _, step := range steps[:len(steps)-1] {
		next, ok := input[step].(map[string]any)
		if _, taken := input[step]; taken && !ok {
			return
		}
		if !ok {
			next = make(map[string]any)
			input[step] = next
		}
		input = next
	}
	last := steps[len(steps)-1]
	if _, isObject := input[last].(map[string]any); !isObject {
		input[last] = value
	}
}

func (s *sampler) all(conditions []tables.RequestCondition, input map[string]any) truth {
	out := yes
	for i := range conditions {
		out = min(out, s.holds(&conditions[i], input))
	}
	return out
}

func (s *sampler) holds(c *tables.RequestCondition, input map[string]any) truth {
	switch {
	case c.Predicate != "":
		value, err := s.samples[c.Predicate].Evaluate(input)
		switch holds, isBool := value.(bool); {
		case errors.Is(err, cel.ErrMissing) || isBool && !holds:
			return no
		case isBool:
			return yes
		}
		return failed
	case c.All != nil:
		return s.all(c.All, input)
	case c.Any != nil:
		out := no
		for i := range c.Any {
			out = max(out, s.holds(&c.Any[i], input))
		}
		return out
	}
	if compares(c.Comparison, found(&c.Comparison.Path, input)) {
		return yes
	}
	return no
}

// compares reports whether a comparison holds for a value: nil, a text, a list of texts, or
// another constant of an expression.
func compares(c *tables.Comparison, value any) bool {
	text := textOf(value)
	elements, isList := value.([]string)
	if !isList && value != nil {
		elements = []string{text}
	}
	switch c.Operator {
	case "eq":
		return text == c.Value
	case "neq":
		return text != c.Value
	case "incl":
		return slices.Contains(elements, c.Value)
	case "excl":
		return !slices.Contains(elements, c.Value)
	}
	expression, err := regexp.Compile(c.Value)
	return err == nil && expression.MatchString(text)
}
