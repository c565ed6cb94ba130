package editor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
)

// place is where the cursor is in a document that is being typed.
type place struct {
	apiVersion, kind, namespace string
	// path has the names of the fields that contain the cursor, and "0" for an item.
	path []string
	// isKey states that a field's name is being typed, otherwise a value.
	isKey bool
	// word is what is typed so far, siblings the fields that its mapping has before it.
	word     string
	siblings map[string]string
}

// level is a mapping or a list that is open at a line.
type level struct {
	indent int
	name   string
	values map[string]string // of a mapping so far
}

var namespaceInFlow = regexp.MustCompile(`[{,]\s*namespace:([^,}]*)`)

// placeOf reads the lines of a YAML document up to the cursor, which is after the last
// rune. after are the lines behind it, which may have the kind.
func placeOf(before, after []string) place {
	var p place
	isMetadata, inner := false, 0 // the indentation of fields of metadata, once it is known
	for _, line := range slices.Concat(before, after) {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case name == "apiVersion":
			p.apiVersion = scalar(value)
		case name == "kind":
			p.kind = scalar(value)
		case isMetadata && strings.TrimSpace(name) == "namespace" && (inner == 0 || inner == indentOf(line)):
			p.namespace = scalar(value)
		case name == "metadata":
			if found := namespaceInFlow.FindStringSubmatch(value); found != nil {
				p.namespace = scalar(found[1])
			}
		}
		switch {
		case line != "" && line[0] != ' ':
			isMetadata, inner = name == "metadata", 0
		case isMetadata && inner == 0:
			inner = indentOf(line)
		}
	}
	stack := []level{{indent: -1, values: map[string]string{}}}
	for i, line := range before {
		stack = descend(&p, stack, line, i == len(before)-1)
	}
	return p
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// descend updates the open levels by one line. For the last one it sets the rest of p.
func descend(p *place, stack []level, line string, isLast bool) []level {
	text := strings.TrimLeft(line, " ")
	if !isLast && (text == "" || text[0] == '#') {
		return stack
	}
	indent := len(line) - len(text)
	// An item may be as far left as the field that has the list.
	isItem := strings.HasPrefix(text, "- ") || text == "-"
	for top := stack[len(stack)-1]; top.indent > indent || top.indent == indent && (!isItem || top.name == item); top = stack[len(stack)-1] {
		stack = stack[:len(stack)-1]
	}
	for strings.HasPrefix(text, "- ") || text == "-" {
		stack = append(stack, level{indent: indent, name: item, values: map[string]string{}})
		rest := strings.TrimLeft(text[1:], " ")
		indent += len(text) - len(rest)
		text = rest
	}
	isFlow := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
	name, value, isField := strings.Cut(text, ":")
	if isField && !isFlow && (value == "" || value[0] == ' ') {
		name = scalar(name)
		stack[len(stack)-1].values[name] = scalar(value)
		if isLast {
			p.inFlow(append(slices.Clone(stack), level{name: name, values: map[string]string{}}), strings.TrimLeft(value, " "))
		}
		return append(stack, level{indent: indent, name: name, values: map[string]string{}})
	}
	if isLast {
		p.inFlow(stack, text)
		if !isFlow {
			p.isKey, p.siblings = true, stack[len(stack)-1].values
		}
	}
	return stack
}

const item = "0"

// inFlow sets the place at the end of a value that may have braces and brackets.
func (p *place) inFlow(stack []level, text string) {
	isKey := false
	start := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			stack = append(stack, level{indent: -2, values: map[string]string{}})
			isKey, start = true, i+1
		case '[':
			stack = append(stack, level{indent: -3, name: item, values: map[string]string{}})
			isKey, start = false, i+1
		case ':':
			if isKey && i+1 < len(text) && text[i+1] == ' ' {
				name := scalar(text[start:i])
				stack = append(stack, level{indent: -4, name: name, values: map[string]string{}})
				isKey, start = false, i+1
			}
		case ',', '}', ']':
			if n := len(stack) - 1; n > 0 && stack[n].indent == -4 {
				stack[n-1].values[stack[n].name] = scalar(text[start:i])
				stack, isKey = stack[:n], true
			}
			if n := len(stack) - 1; text[i] != ',' && n > 0 && stack[n].indent < -1 {
				stack, isKey = stack[:n], false
			}
			start = i + 1
		}
	}
	p.isKey, p.word = isKey, scalar(text[min(start, len(text)):])
	p.path = nil
	for _, l := range stack[1:] {
		if l.name != "" {
			p.path = append(p.path, l.name)
		}
	}
	p.siblings = stack[len(stack)-1].values
	if !isKey && len(stack) > 1 && stack[len(stack)-1].name != item {
		p.siblings = stack[len(stack)-2].values
	}
}

// scalar returns a value without blanks, quotes and a comment.
func scalar(text string) string {
	if at := strings.Index(text, " #"); at >= 0 {
		text = text[:at]
	}
	return strings.Trim(strings.TrimSpace(text), `"'`)
}

// maxHolders bounds the lines about a role.
const maxHolders = 30

// Holders returns who holds the role that is named at a position, as Markdown; empty if no role
// is named there, or if the directory has errors.
func (a *Analysis) Holders(at diag.Position) string {
	for _, n := range a.names[at.File] {
		if covers(n.at, len([]rune(n.target.Name)), at) && strings.HasSuffix(n.target.Kind, "Role") {
			return a.holders(n.target)
		}
	}
	return ""
}

func (a *Analysis) holders(role directory.Identity) string {
	if a.Result == nil {
		return ""
	}
	binds := make(map[directory.Identity]bool)
	for _, n := range a.byTarget[role] {
		if !n.isDeclared {
			binds[n.by] = true
		}
	}
	var lines []string
	for h := range a.Result.Tables.Holdings() {
		id := directory.Identity{Family: h.Binding.Family, Kind: h.Binding.Kind, Namespace: h.Binding.Namespace, Name: h.Binding.Name}
		if !binds[id] {
			continue
		}
		where := "every namespace"
		if h.Namespace != "" {
			where = "namespace " + h.Namespace
		}
		lines = append(lines, fmt.Sprintf("- `%s` in %s, by %s", h.Subject, where, titleOf(id)))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		return "**" + titleOf(role) + "** has no subjects.\n"
	}
	if more := len(lines) - maxHolders; more > 0 {
		lines = append(lines[:maxHolders], fmt.Sprintf("- and %d more", more))
	}
	return "**" + titleOf(role) + "** is held by\n\n" + strings.Join(lines, "\n") + "\n"
}
