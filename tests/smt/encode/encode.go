// Package encode writes what must be shown of an assertion as SMT-LIB, from the JSON of
// statements and of the assertion. It imports nothing of writ: it is a second reading of how
// statements decide, for a solver that shares no code with the prover.
//
// It reads rules of Kubernetes, Origin and deny policies without opaque parts and restrictions,
// and the forms never, always, within, equals and implies. Requests are those about resources
// with the words of Domain.
package encode

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Domain are the words that requests of the encoding have. "example" stands for each other
// word.
var Domain = map[string][]string{
	"verb": {"get", "list", "delete", "update", "create", "example"}, "apiGroup": {"", "apps", "example"},
	"resource": {"pods", "secrets", "configmaps", "example"}, "subresource": {"", "exec", "status", "example"},
}

// Statement is a statement as writ diff shows it.
type Statement struct {
	Family, Effect, Namespace string
	Step                      int
	Subjects                  []string
	Rule                      map[string]any
	AppliesTo                 map[string]any
}

// Assertion is an assertion as a document has it.
type Assertion struct {
	Never, Always string
	Of, Unless    map[string]any
	Alone         bool
	Within        []map[string]any
	Equals        []map[string]any
	Implies       []string
}

// Query returns what is satisfiable if and only if a request breaks the assertion.
func Query(statements, assertion []byte, apart [][]string) (string, error) {
	var e encoder
	if err := json.Unmarshal(statements, &e.all); err != nil {
		return "", err
	}
	var a Assertion
	if err := json.Unmarshal(assertion, &a); err != nil {
		return "", err
	}
	e.principals = make(map[string]bool)
	e.named = make(map[string]bool)
	for _, s := range e.all {
		for _, p := range s.Subjects {
			e.principals[p], e.named[p] = true, true
		}
	}
	e.learn(a.Of["holds"])
	e.learn(a.Unless["holds"])
	for _, list := range apart {
		for _, p := range list {
			e.principals[p] = true
		}
	}
	for _, p := range a.Implies {
		e.principals[p] = true
	}
	return e.query(&a, apart), nil
}

type encoder struct {
	all               []Statement
	principals, named map[string]bool
}

// learn adds the principals of a value of holds.
func (e *encoder) learn(value any) {
	switch v := value.(type) {
	case string:
		e.principals[v] = true
	case []any:
		for _, one := range v {
			e.learn(one)
		}
	case map[string]any:
		for _, one := range v {
			e.learn(one)
		}
	}
}

func (e *encoder) query(a *Assertion, apart [][]string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, key := range []string{"verb", "apiGroup", "resource", "subresource", "namespace", "name", "cluster"} {
		line("(declare-const %s String)", key)
		if words := Domain[key]; words != nil {
			line("(assert %s)", or(each(words, func(w string) string { return equal(key, w) })))
		} else {
			line("(assert (str.in_re %s (re.* (re.union (re.range \"a\" \"z\") (re.range \"0\" \"9\") (str.to_re \"-\")))))", key)
			line("(assert (<= (str.len %s) 16))", key)
		}
	}
	list := slices.Sorted(maps.Keys(e.principals))
	for _, p := range list {
		line("(declare-const |%s| Bool)", p)
	}
	var users, all []string
	for _, p := range list {
		if all = append(all, "|"+p+"|"); strings.HasPrefix(p, "user:") {
			users = append(users, "|"+p+"|")
		}
	}
	line("(assert %s)", atMostOne(users))
	if a.Implies == nil {
		for _, names := range apart {
			line("(assert %s)", atMostOne(each(names, func(p string) string { return "|" + p + "|" })))
		}
		if a.Alone {
			line("(assert %s)", atMostOne(all))
		}
	}
	outcome := func(name string, held func(string) string) {
		line("(declare-const %s Int)", name)
		line("(assert (= %s %s))", name, e.outcome(held))
	}
	line("(assert %s)", e.class(a.Of))
	if a.Unless != nil {
		line("(assert (not %s))", e.class(a.Unless))
	}
	if a.Implies != nil {
		for i, subject := range a.Implies {
			outcome(fmt.Sprintf("outcome%d", i), func(p string) string { return fmt.Sprint(p == subject) })
		}
		line("(assert (and (= outcome0 1) (not (= outcome1 1))))")
		return b.String()
	}
	outcome("outcome", func(p string) string { return "|" + p + "|" })
	line("(assert %s)", broken(a))
	return b.String()
}

// broken is the condition on the outcome: 1 is allow, 2 deny, 0 none.
func broken(a *Assertion) string {
	word := func(w string) string {
		return map[string]string{"allowed": "(= outcome 1)", "denied": "(= outcome 2)", "decided": "(not (= outcome 0))"}[w]
	}
	switch {
	case a.Never != "":
		return word(a.Never)
	case a.Always != "":
		return not(word(a.Always))
	case a.Within != nil:
		return and([]string{"(= outcome 1)", not(listed(a.Within))})
	}
	return not("(= (= outcome 1) " + listed(a.Equals) + ")")
}

func listed(entries []map[string]any) string {
	return or(each(entries, func(entry map[string]any) string {
		parts := []string{kubernetesRule(entry)}
		if list, ok := entry["namespaces"]; ok {
			parts = append(parts, or(each(texts(list), func(w string) string { return equal("namespace", w) })))
		}
		return and(parts)
	}))
}

// outcome returns the outcome by the lowest step that fits, deny before allow.
func (e *encoder) outcome(held func(string) string) string {
	out := "0"
	for step := 6; step >= 1; step-- {
		for _, effect := range []string{"allow", "deny"} {
			var fits []string
			for _, s := range e.all {
				if s.Step == step && s.Effect == effect {
					fits = append(fits, fit(&s, held))
				}
			}
			if value := map[string]string{"allow": "1", "deny": "2"}[effect]; len(fits) > 0 {
				out = fmt.Sprintf("(ite %s %s %s)", or(fits), value, out)
			}
		}
	}
	return out
}

// fit is whether a statement fits the request.
func fit(s *Statement, held func(string) string) string {
	var parts []string
	if s.Subjects != nil {
		parts = append(parts, or(each(s.Subjects, held)))
	}
	if s.Namespace != "" {
		parts = append(parts, equal("namespace", s.Namespace))
	}
	switch s.Family {
	case "kubernetes":
		parts = append(parts, kubernetesRule(s.Rule))
	case "origin":
		parts = append(parts, originRule(s.Rule))
	default:
		parts = append(parts, denyRule(s.Rule))
		if clusters := texts(s.AppliesTo["clusters"]); len(clusters) > 0 {
			parts = append(parts, globs("cluster", clusters))
		}
	}
	return and(parts)
}

func kubernetesRule(rule map[string]any) string {
	if rule["nonResourceURLs"] != nil {
		return "false"
	}
	parts := []string{words("verb", texts(rule["verbs"])), words("apiGroup", texts(rule["apiGroups"])), resources(texts(rule["resources"]))}
	if names := texts(rule["resourceNames"]); len(names) > 0 {
		parts = append(parts, or(each(names, func(w string) string { return equal("name", w) })))
	}
	return and(parts)
}

// resources is whether an entry of a rule of Kubernetes names the resource.
func resources(list []string) string {
	return or(each(list, func(w string) string {
		resource, sub, hasSub := strings.Cut(w, "/")
		switch {
		case w == "*":
			return "true"
		case hasSub && resource == "*":
			return equal("subresource", sub)
		}
		return and([]string{equal("resource", resource), equal("subresource", sub)})
	}))
}

// originRule is whether a rule of Origin fits. A negation takes a word from the positive ones.
func originRule(rule map[string]any) string {
	carried := `(ite (= subresource "exec") "exec" verb)`
	verb := func(w string) string {
		if w == "*" {
			return "true"
		}
		return fmt.Sprintf("(= %s %q)", carried, strings.ToLower(w))
	}
	kind := func(w string) string {
		word, sub, hasSub := strings.Cut(strings.ToLower(w), "/")
		var parts []string
		if word != "*" {
			parts = append(parts, equal("resource", strings.TrimSuffix(word, "s")+"s"))
		}
		if hasSub {
			parts = append(parts, equal("subresource", sub))
		}
		return and(parts)
	}
	return and([]string{signed(texts(rule["verbs"]), verb), signed(texts(rule["resourceKinds"]), kind)})
}

func signed(list []string, fits func(string) string) string {
	var yes, no []string
	for _, w := range list {
		if word, negated := strings.CutPrefix(w, "-"); negated {
			no = append(no, fits(word))
		} else {
			yes = append(yes, fits(w))
		}
	}
	return and([]string{or(yes), not(or(no))})
}

// denyRule is whether a rule of a deny policy fits. Absent lists fit everything.
func denyRule(rule map[string]any) string {
	parts := []string{words("verb", texts(rule["verbs"])), words("apiGroup", texts(rule["apiGroups"]))}
	subs := texts(rule["subresources"])
	parts = append(parts, or(each(texts(rule["resources"]), func(w string) string {
		if resource, sub, hasSub := strings.Cut(w, "/"); hasSub {
			parts := []string{words("resource", []string{resource}), words("subresource", []string{sub})}
			if sub == "*" {
				parts = append(parts, not(equal("subresource", "")))
			}
			return and(parts)
		}
		if len(subs) > 0 {
			return and([]string{words("resource", []string{w}), words("subresource", subs)})
		}
		return words("resource", []string{w})
	})))
	if filter, ok := rule["namespaces"].(map[string]any); ok {
		parts = append(parts, globs("namespace", texts(filter["patterns"])))
	} else if list := texts(rule["namespaces"]); len(list) > 0 {
		parts = append(parts, globs("namespace", list))
	}
	if names := texts(rule["resourceNames"]); len(names) > 0 {
		parts = append(parts, globs("name", names))
	}
	return and(parts)
}

// class is whether the request is in a class.
func (e *encoder) class(c map[string]any) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		switch key {
		case "holds":
			parts = append(parts, e.holds(c[key]))
		case "resource":
			parts = append(parts, value(c[key], func(w string) string {
				if w == "*" {
					return "false" // the word itself, which no request of the domain has
				}
				word, sub, _ := strings.Cut(w, "/")
				word, group, _ := strings.Cut(word, ".")
				out := []string{equal("resource", word), equal("apiGroup", group)}
				if sub != "*" {
					out = append(out, equal("subresource", sub))
				}
				return and(out)
			}, "resource"))
		default:
			parts = append(parts, value(c[key], func(w string) string { return equal(key, w) }, key))
		}
	}
	return and(parts)
}

func value(v any, literal func(string) string, key string) string {
	switch v := v.(type) {
	case string:
		return literal(v)
	case []any:
		return or(each(v, func(one any) string { return value(one, literal, key) }))
	case map[string]any:
		var parts []string
		if like := v["like"]; like != nil {
			parts = append(parts, globs(key, texts(like)))
		}
		if prefix := v["prefix"]; prefix != nil {
			parts = append(parts, or(each(texts(prefix), func(w string) string { return fmt.Sprintf("(str.prefixof %q %s)", w, key) })))
		}
		if negated := v["not"]; negated != nil {
			parts = append(parts, not(value(negated, literal, key)))
		}
		return or(parts)
	}
	return "false"
}

func (e *encoder) holds(v any) string {
	has := func(p string) string { return "|" + p + "|" }
	switch v := v.(type) {
	case string:
		return has(v)
	case []any:
		return or(each(texts(v), has))
	case map[string]any:
		if all := v["all"]; all != nil {
			return and(each(texts(all), has))
		}
		if only := v["only"]; only != nil {
			list := texts(only)
			parts := []string{or(each(list, has))}
			for _, p := range slices.Sorted(maps.Keys(e.named)) {
				if !slices.Contains(list, p) {
					parts = append(parts, not(has(p)))
				}
			}
			return and(parts)
		}
		return not(e.holds(v["not"]))
	}
	return "false"
}

// globs is whether a pattern fits the value of a key.
func globs(key string, list []string) string {
	return or(each(list, func(pattern string) string {
		if pattern == "*" {
			return "true"
		}
		return fmt.Sprintf("(str.in_re %s %s)", key, regex(pattern))
	}))
}

// regex is a pattern. The strings of requests have no slash.
func regex(pattern string) string {
	parts := []string{`(str.to_re "")`}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			parts = append(parts, "(re.* re.allchar)")
		case '?':
			parts = append(parts, "re.allchar")
		case '[':
			end := i + strings.IndexByte(pattern[i:], ']')
			parts = append(parts, set(pattern[i+1:end]))
			i = end
		case '\\':
			i++
			parts = append(parts, fmt.Sprintf("(str.to_re %q)", pattern[i:i+1]))
		default:
			parts = append(parts, fmt.Sprintf("(str.to_re %q)", string(c)))
		}
	}
	return "(re.++ " + strings.Join(append(parts, `(str.to_re "")`), " ") + ")"
}

func set(class string) string {
	var parts []string
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			parts = append(parts, fmt.Sprintf("(re.range %q %q)", class[i:i+1], class[i+2:i+3]))
			i += 2
		} else {
			parts = append(parts, fmt.Sprintf("(str.to_re %q)", class[i:i+1]))
		}
	}
	return "(re.union " + strings.Join(append(parts, "re.none"), " ") + ")"
}

func words(key string, list []string) string {
	return or(each(list, func(w string) string {
		if w == "*" {
			return "true"
		}
		return equal(key, w)
	}))
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		return each(v, func(one any) string { text, _ := one.(string); return text })
	}
	return nil
}

func each[T any](list []T, f func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, one := range list {
		out = append(out, f(one))
	}
	return out
}

func equal(key, word string) string { return fmt.Sprintf("(= %s %q)", key, word) }

func not(x string) string { return "(not " + x + ")" }

func or(list []string) string { return "(or false " + strings.Join(list, " ") + ")" }

func and(list []string) string { return "(and true " + strings.Join(list, " ") + ")" }

func atMostOne(list []string) string {
	var parts []string
	for i, p := range list {
		for _, q := range list[:i] {
			parts = append(parts, "(not (and "+p+" "+q+"))")
		}
	}
	return and(parts)
}
