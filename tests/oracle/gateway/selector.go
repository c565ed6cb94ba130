package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// selected is what a selector selects, nil if that is missing.
func selected(selector string, seen any) any {
	path, rest, _ := strings.Cut(selector, "@")
	value := seen
	for _, key := range steps(strings.TrimSuffix(path, ".")) {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			value = nil
			if i, err := strconv.Atoi(key); key == "#" {
				value = len(v)
			} else if err == nil && i < len(v) {
				value = v[i]
			}
		default:
			value = nil
		}
	}
	for modifier := range strings.SplitSeq(rest, ".@") {
		if modifier != "" && value != nil {
			value = modified(asText(value), modifier)
		}
	}
	return value
}

// steps cuts a path at its dots, but for escaped ones.
func steps(path string) []string {
	const dot = "\x00"
	parts := strings.Split(strings.ReplaceAll(path, `\.`, dot), ".")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], dot, ".")
	}
	return parts
}

func modified(value, modifier string) any {
	name, argument, _ := strings.Cut(modifier, ":")
	switch name {
	case "case":
		if argument == "upper" {
			return strings.ToUpper(value)
		}
		return strings.ToLower(value)
	case "base64":
		if argument == "encode" {
			return base64.StdEncoding.EncodeToString([]byte(value))
		}
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			panic(err) // only what can be decoded is generated
		}
		return string(decoded)
	case "strip":
		return strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, value)
	}
	var with struct {
		Sep, Old, New string
		Pos           int
	}
	if err := json.Unmarshal([]byte(argument), &with); err != nil {
		panic(err)
	}
	if name == "replace" {
		return strings.ReplaceAll(value, with.Old, with.New)
	}
	parts := strings.Split(value, with.Sep)
	if with.Pos >= len(parts) {
		return nil
	}
	return parts[with.Pos]
}

// asText is how values compare and how they stand in text.
func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool, int:
		return fmt.Sprint(v)
	}
	return yaml.Quote(value)
}

// compares reports whether an operator holds between what was selected and a value.
func compares(operator string, value any, with string) bool {
	list, isList := value.([]any)
	if !isList && value != nil {
		list = []any{value}
	}
	contains := slices.ContainsFunc(list, func(item any) bool { return asText(item) == with })
	switch operator {
	case "eq":
		return asText(value) == with
	case "neq":
		return asText(value) != with
	case "incl":
		return contains
	case "excl":
		return !contains
	}
	return regexp.MustCompile(with).MatchString(asText(value))
}

// template fills the selectors in braces of a selector that has any; the text of
// another selector is a selector as a whole.
func template(selector string, seen any) any {
	if !strings.Contains(strings.ReplaceAll(selector, ":{", ""), "{") {
		return selected(selector, seen)
	}
	var out strings.Builder
	for selector != "" {
		before, rest, found := strings.Cut(selector, "{")
		out.WriteString(before)
		if !found {
			break
		}
		inside, after, _ := strings.Cut(rest, "}")
		out.WriteString(asText(selected(inside, seen)))
		selector = after
	}
	return out.String()
}
