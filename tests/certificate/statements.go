package certificate

import (
	"regexp"
	"slices"
	"strings"
)

// statementOf is the requests that a statement fits.
func statementOf(s *Statement) *expr {
	out := and()
	if s.Subjects != nil {
		out.list = append(out.list, matching("holds", s.Subjects...))
	}
	if s.Namespace != "" {
		out.list = append(out.list, word("namespace", s.Namespace))
	}
	impersonation, _ := s.Rule["impersonation"].(map[string]any)
	pods, _ := s.Rule["podSecurity"].(map[string]any)
	switch r := s.Rule; {
	case impersonation != nil:
		out.list = append(out.list, impersonating(impersonation, s.AppliesTo))
	case pods != nil:
		out.list = append(out.list, anyCase("resource", sameKind("pods")...), word("apiGroup", ""), unknown,
			or(anyCase("subresource", texts(pods["subresources"])...), and(word("subresource", ""), anyCase("verb", "exec", "proxy"))))
	case r["verbs"] == nil:
		out.list = append(out.list, unknown)
	case s.Family == "kubernetes":
		out.list = append(out.list, kubernetes(r))
	case s.Family == "origin":
		out.list = append(out.list, origin(r, s.Effect == "deny"))
	default:
		out.list = append(out.list, denial(r, s.AppliesTo))
	}
	if s.Rule["attributeRestrictions"] != nil || s.Session != "" {
		out.list = append(out.list, unknown)
	}
	return out
}

// listed fits every request or none.
func listed(is bool) *expr {
	if is {
		return and()
	}
	return or()
}

// impersonating is a rule about impersonation: what is read of it are the identities that the
// verb impersonate is for.
func impersonating(r, scope map[string]any) *expr {
	is := and(word("path", ""), anyCase("verb", "impersonate"))
	for key := range r {
		switch list := texts(r[key]); key {
		case "identityResources":
			is.list = append(is.list, each(list, func(w string) *expr { return anyCase("resource", sameKind(w)...) }))
		case "identities":
			is.list = append(is.list, each(list, func(g string) *expr { return glob("name", g) }))
		default:
			is.list = append(is.list, or())
		}
	}
	if len(scope) > 0 || len(r) == 0 {
		is = or()
	}
	return and(matching("verb", lower("impersonate")+".*"), or(is, unknown))
}

// words is that a list has the value of a key, or "*".
func words(key string, v any) *expr {
	return each(texts(v), func(w string) *expr {
		if w == "*" {
			return and()
		}
		return word(key, w)
	})
}

func kubernetes(r map[string]any) *expr {
	if paths := texts(r["nonResourceURLs"]); len(paths) > 0 {
		return and(words("verb", r["verbs"]), not(word("path", "")), each(paths, func(p string) *expr {
			if strings.HasSuffix(p, "*") {
				return prefix("path", strings.TrimRight(p, "*"))
			}
			return word("path", p)
		}))
	}
	names := and()
	if list := texts(r["resourceNames"]); len(list) > 0 {
		names = each(list, func(w string) *expr { return word("name", w) })
	}
	return and(word("path", ""), words("verb", r["verbs"]), words("apiGroup", r["apiGroups"]), names, each(texts(r["resources"]), func(w string) *expr {
		resource, sub, hasSub := strings.Cut(w, "/")
		switch {
		case w == "*":
			return and()
		case hasSub && resource == "*":
			return word("subresource", sub)
		}
		return and(word("resource", resource), word("subresource", sub))
	}))
}

// sameKind are the words for a kind: singular and plural.
func sameKind(w string) []string {
	plural := func(w string) string {
		switch n := len(w); {
		case n > 1 && w[n-1] == 'y' && !strings.ContainsAny(w[n-2:n-1], "aeiou"):
			return w[:n-1] + "ies"
		case regexp.MustCompile("(s|x|z|ch|sh)$").MatchString(w):
			return w + "es"
		}
		return w + "s"
	}
	out := []string{w, plural(w)}
	for _, single := range []string{strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es"), strings.TrimSuffix(w, "ies") + "y"} {
		if single != "" && single != w && plural(single) == w {
			out = append(out, single)
		}
	}
	return out
}

// streams are the verbs that stand for subresources.
var streams = map[string][]string{"exec": {"exec", "attach"}, "proxy": {"proxy", "portforward"}}

func origin(r map[string]any, deny bool) *expr {
	stream := anyCase("subresource", "exec", "attach", "proxy", "portforward")
	verb := func(w string) *expr {
		w = strings.ToLower(w)
		if w == "*" {
			return and()
		}
		also := map[string][]string{"update": {"patch"}, "delete": {"deletecollection"}}[w]
		is := anyCase("verb", append(also, w)...)
		if w == "impersonate" {
			is = or(is, matching("verb", lower("impersonate:")+".*"))
		}
		return or(and(not(stream), is), anyCase("subresource", streams[w]...))
	}
	kind := func(w string) *expr {
		k, sub, hasSub := strings.Cut(strings.ToLower(w), "/")
		out := and()
		if k != "*" {
			out.list = append(out.list, anyCase("resource", sameKind(k)...))
		}
		if hasSub {
			is := anyCase("subresource", sub)
			if streams[sub] != nil {
				is = or(is, and(word("subresource", ""), anyCase("verb", sub)))
			}
			out.list = append(out.list, is)
		}
		return out
	}
	return and(word("path", ""), signed(r["verbs"], verb, and(word("verb", "*"), not(stream)), deny), signed(r["resourceKinds"], kind, word("resource", "*"), deny))
}

// signed is that an entry fits and no negated one. A request for all values is denied if one is.
func signed(v any, fits func(string) *expr, all *expr, deny bool) *expr {
	var yes, no []string
	for _, w := range texts(v) {
		if negated, isNegated := strings.CutPrefix(w, "-"); isNegated {
			no = append(no, negated)
		} else {
			yes = append(yes, w)
		}
	}
	whole := or()
	if deny && len(yes) > 0 && !slices.Contains(no, "*") || !deny && len(no) == 0 && slices.Contains(yes, "*") {
		whole = and()
	}
	return or(and(all, whole), and(not(all), each(yes, fits), not(each(no, fits))))
}

func denial(r, scope map[string]any) *expr {
	// spelled is a word, which in lower case fits a value in any case.
	spelled := func(key string, list []string, more func(string) []string) *expr {
		return each(list, func(w string) *expr {
			if w == "*" {
				return and()
			}
			out := word(key, w)
			if w == strings.ToLower(w) {
				out = or(out, anyCase(key, more(w)...))
			}
			return out
		})
	}
	itself := func(w string) []string { return []string{w} }
	target := func(sub func(list []string) *expr) *expr {
		return each(texts(r["resources"]), func(w string) *expr {
			resource, of, hasSub := strings.Cut(w, "/")
			out := and(spelled("resource", []string{resource}, sameKind))
			switch subs := r["subresources"]; {
			case of == "*":
				out.list = append(out.list, not(sub([]string{""})))
			case hasSub:
				out.list = append(out.list, sub([]string{of}))
			case subs != nil:
				out.list = append(out.list, sub(texts(subs)))
			}
			return out
		})
	}
	verbs, subresource := spelled("verb", texts(r["verbs"]), itself), func(list []string) *expr { return spelled("subresource", list, itself) }
	forms := or(and(verbs, target(subresource)))
	for stream := range streams {
		implied := target(func(list []string) *expr { return listed(slices.Contains(list, stream) || slices.Contains(list, "*")) })
		forms.list = append(forms.list, and(word("subresource", ""), anyCase("verb", stream), implied, or(verbs, listed(stream == "exec" && slices.Contains(texts(r["verbs"]), "create")))))
	}
	forms = and(words("apiGroup", r["apiGroups"]), forms)
	if slices.ContainsFunc(texts(r["verbs"]), func(w string) bool { return w == "*" || strings.HasPrefix(w, "impersonate") }) {
		forms = or(forms, and(matching("verb", lower("impersonate:")+".*"), target(subresource), unknown)) // the groups are others
	}
	out := and(word("path", ""), forms)
	globs := func(key string, v any) {
		if list := texts(v); len(list) > 0 {
			out.list = append(out.list, each(list, func(g string) *expr { return glob(key, g) }))
		}
	}
	globs("name", r["resourceNames"])
	if list := texts(r["resourceNames"]); len(list) > 0 && !slices.Contains(list, "*") && !slices.Contains(list, "") {
		out.list = append(out.list, not(word("name", "")))
	}
	if filter, ok := r["namespaces"].(map[string]any); ok {
		named := each(texts(filter["patterns"]), func(g string) *expr { return glob("namespace", g) })
		if filter["selectorTerms"] != nil {
			named = or(named, and(not(word("namespace", "")), unknown))
		}
		out.list = append(out.list, named)
	}
	globs("cluster", scope["clusters"])
	if len(scope) > 0 && (len(scope) > 1 || scope["clusters"] == nil) {
		out.list = append(out.list, unknown) // tenants, sessions and escalations
	}
	return out
}
