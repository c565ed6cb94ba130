package certificate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// valid fits requests: those about resources, and those about paths.
var valid = and(not(word("verb", "")), or(and(word("path", ""), not(word("resource", ""))),
	and(not(word("path", "")), word("resource", ""), word("subresource", ""), word("apiGroup", ""), word("name", ""), word("namespace", ""))))

func word(key, text string) *expr {
	if key == "holds" {
		return matching(key, text)
	}
	return matching(key, regexp.QuoteMeta(text))
}

// anyCase fits words that are one of some in lower case.
func anyCase(key string, words ...string) *expr {
	return each(words, func(w string) *expr { return matching(key, lower(w)) })
}

func lower(word string) string {
	out := ""
	for _, r := range word {
		out += "(?:" + regexp.QuoteMeta(string(r))
		for _, c := range append([]rune(strings.ToUpper(string(r))), 'İ', '\u212a', '\u212b') { // and K and Å of units
			if unicode.ToLower(c) == r && c != r {
				out += "|" + string(c)
			}
		}
		out += ")"
	}
	return out
}

// each is that one of some texts fits.
func each(list []string, fits func(string) *expr) *expr {
	out := or()
	for _, text := range list {
		out.list = append(out.list, fits(text))
	}
	return out
}

var escaped = regexp.MustCompile(`(?s)\\.`)

var globParts = regexp.MustCompile(`(?s)\\.|\*|\?|\[(?:\\.|[^\]])*\]|.`)

// glob fits the values of a pattern.
func glob(key, pattern string) *expr {
	if pattern == "*" {
		return and()
	}
	return matching(key, globParts.ReplaceAllStringFunc(pattern, func(part string) string {
		switch {
		case part == "*":
			return "[^/]*"
		case part == "?":
			return "[^/]"
		case part[0] == '[':
			return escaped.ReplaceAllStringFunc(part, func(c string) string { return fmt.Sprintf(`\x{%x}`, []rune(c)[1]) })
		}
		return regexp.QuoteMeta(strings.TrimPrefix(part, `\`))
	}))
}

func prefix(key, text string) *expr { return matching(key, regexp.QuoteMeta(text)+".*") }

func branchOf(key string, values, like, prefixes []string, rest bool) *expr {
	switch {
	case rest:
		return and()
	case key == "holds":
		return matching(key, values...)
	case len(values) > 0:
		return each(values, func(w string) *expr { return word(key, w) })
	}
	out := and()
	for _, g := range like {
		out.list = append(out.list, glob(key, g))
	}
	for _, p := range prefixes {
		out.list = append(out.list, prefix(key, p))
	}
	return out
}

func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			out = append(out, texts(one)...)
		}
	}
	return out
}

// valueOf is a value of a class: literal is what fits a text.
func valueOf(v any, key string, literal func(string) *expr) *expr {
	switch v := v.(type) {
	case string:
		return literal(v)
	case []any:
		out := or()
		for _, one := range v {
			out.list = append(out.list, valueOf(one, key, literal))
		}
		return out
	case map[string]any:
		if v["not"] != nil {
			return not(valueOf(v["not"], key, literal))
		}
		return or(each(texts(v["like"]), func(g string) *expr { return glob(key, g) }), each(texts(v["prefix"]), func(p string) *expr { return prefix(key, p) }))
	}
	return unknown
}

func classOf(class map[string]any, named map[string]bool) *expr {
	out := and()
	for key, v := range class {
		fits := func(text string) *expr { return word(key, text) }
		switch key {
		case "holds":
			out.list = append(out.list, holdsOf(v, named))
			continue
		case "labels", "namespaceLabels":
			out.list = append(out.list, unknown)
			continue
		case "path":
			out.list = append(out.list, not(word("path", "")))
		case "resource", "apiGroup", "subresource", "namespace", "name":
			out.list = append(out.list, word("path", ""))
		}
		if key == "resource" {
			fits = func(text string) *expr {
				head, sub, _ := strings.Cut(text, "/")
				head, group, _ := strings.Cut(head, ".")
				e := and(word(key, head))
				if text != "*" && class["apiGroup"] == nil {
					e.list = append(e.list, word("apiGroup", group))
				}
				if text != "*" && class["subresource"] == nil && sub != "*" {
					e.list = append(e.list, word("subresource", sub))
				}
				return e
			}
		}
		out.list = append(out.list, valueOf(v, key, fits))
	}
	return out
}

func holdsOf(v any, named map[string]bool) *expr {
	m, _ := v.(map[string]any)
	holds := func(p string) *expr { return word("holds", p) }
	switch {
	case m["not"] != nil:
		return not(holdsOf(m["not"], named))
	case m["all"] != nil:
		return not(each(texts(m["all"]), func(p string) *expr { return not(holds(p)) }))
	case m["only"] != nil:
		only := texts(m["only"])
		out := and(matching("holds", only...))
		for p := range named {
			if !slices.Contains(only, p) {
				out.list = append(out.list, not(holds(p)))
			}
		}
		return out
	case m != nil: // patterns: unnamed principals may fit
		return unknown
	}
	list, _ := v.([]any)
	if list == nil {
		return holds(v.(string))
	}
	out := or()
	for _, one := range list {
		out.list = append(out.list, holdsOf(one, named))
	}
	return out
}
