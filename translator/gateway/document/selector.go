package document

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// modifiers are the names there are, in the order hints list them.
var modifiers = []string{"extract", "case", "replace", "base64", "strip"}

// parseSelector takes a path apart. The problem is empty for a valid one.
func parseSelector(text string) (path tables.SelectorPath, problem string) {
	if text == "" {
		return path, "the selector is empty"
	}
	rest := text
	for {
		if strings.HasPrefix(rest, "@") {
			break
		}
		step, after, more := cutStep(rest)
		if problem := unknownStep(rest[:len(rest)-len(after)]); problem != "" {
			return path, problem
		}
		rest = after
		switch {
		case path.Length:
			return path, "nothing but modifiers can follow \"#\""
		case step == "#":
			path.Length = true
		case step == "":
			return path, "the selector has an empty step"
		default:
			path.Steps = append(path.Steps, step)
		}
		if !more {
			return path, ""
		}
	}
	for {
		var m tables.Modifier
		if m, rest, problem = parseModifier(rest); problem != "" {
			return path, problem
		}
		path.Modifiers = append(path.Modifiers, m)
		if rest == "" {
			return path, ""
		}
		if !strings.HasPrefix(rest, "@") {
			return path, "nothing but modifiers can follow a modifier"
		}
	}
}

// cutStep cuts the first step off, its escapes undone. more says that a dot or a
// bar stood behind it.
func cutStep(text string) (step, rest string, more bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		case c == '.', c == '|':
			return out.String(), text[i+1:], true
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), "", false
}

// unknownStep says what is wrong with a step as written that other readers of such
// paths give a meaning of its own.
func unknownStep(raw string) string {
	if raw != "" && strings.ContainsRune("{[!", rune(raw[0])) || len(raw) > 1 && raw[0] == '#' && raw[1] != '.' && raw[1] != '|' {
		return fmt.Sprintf("a step cannot begin with %q; a backslash takes a character literally", raw[:1])
	}
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '*', '?':
			return fmt.Sprintf("wildcards are not supported; write \\%c for the character", raw[i])
		}
	}
	return ""
}

// parseModifier reads "@name" or "@name:argument" and the separator behind it.
func parseModifier(text string) (m tables.Modifier, rest, problem string) {
	end := strings.IndexAny(text, ":.|")
	if end < 0 {
		end = len(text)
	}
	m.Name, rest = text[1:end], text[end:]
	argument := ""
	if strings.HasPrefix(rest, ":") {
		argument, rest = cutArgument(rest[1:])
	}
	if rest != "" {
		rest = rest[1:] // the separator
		if rest == "" {
			return m, "", "the selector has an empty step"
		}
	}
	return m, rest, readArgument(&m, argument)
}

// cutArgument cuts an argument off: a JSON object, or text up to a separator.
func cutArgument(text string) (argument, rest string) {
	if strings.HasPrefix(text, "{") {
		decoder := json.NewDecoder(strings.NewReader(text))
		var object json.RawMessage
		if decoder.Decode(&object) != nil {
			return text, ""
		}
		return string(object), text[decoder.InputOffset():]
	}
	if end := strings.IndexAny(text, ".|"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// readArgument reads the argument of a modifier and returns what is wrong with it.
func readArgument(m *tables.Modifier, argument string) string {
	switch m.Name {
	case "extract":
		m.Sep = " "
		return readObject(m, argument, map[string]any{"sep": &m.Sep, "pos": &m.Pos})
	case "replace":
		return readObject(m, argument, map[string]any{"old": &m.Old, "new": &m.New})
	case "case":
		return readChoice(m, argument, "upper", "lower")
	case "base64":
		return readChoice(m, argument, "encode", "decode")
	case "strip":
		return ""
	}
	return fmt.Sprintf("unknown modifier %q; known are %s", "@"+m.Name, strings.Join(modifiers, ", "))
}

func readChoice(m *tables.Modifier, argument string, words ...string) string {
	for _, word := range words {
		if argument == word {
			m.Text = word
			return ""
		}
	}
	return fmt.Sprintf("the argument of @%s is %s", m.Name, strings.Join(words, " or "))
}

func readObject(m *tables.Modifier, argument string, to map[string]any) string {
	if argument == "" {
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(argument), &members) != nil {
		return fmt.Sprintf("the argument of @%s is a JSON object", m.Name)
	}
	for name, value := range members {
		member, known := to[name]
		if !known {
			return fmt.Sprintf("the argument of @%s has no member %q", m.Name, name)
		}
		if json.Unmarshal(value, member) != nil {
			return fmt.Sprintf("%q in the argument of @%s has another type", name, m.Name)
		}
	}
	if m.Pos < 0 {
		return fmt.Sprintf("\"pos\" in the argument of @%s counts from 0", m.Name)
	}
	return ""
}

// parseTemplate takes a selector of a value apart: one path, or a template where it
// has "{...}" in it. The problem is empty for a valid one.
func parseTemplate(text string) (template *tables.Template, problem string) {
	if !isTemplate(text) {
		path, problem := parseSelector(text)
		return &tables.Template{Path: &path}, problem
	}
	template = &tables.Template{}
	for text != "" {
		before, inner, found := strings.Cut(text, "{")
		if before != "" {
			template.Pieces = append(template.Pieces, tables.TemplatePiece{Text: before})
		}
		if !found {
			break
		}
		end := closing(inner)
		if end < 0 {
			return nil, "the template has a \"{\" without its \"}\""
		}
		path, problem := parseSelector(inner[:end])
		if problem != "" {
			return nil, problem
		}
		template.Pieces = append(template.Pieces, tables.TemplatePiece{Path: &path})
		text = inner[end+1:]
	}
	return template, ""
}

// isTemplate reports whether braces stand in a selector elsewhere than in the
// argument of a modifier.
func isTemplate(text string) bool {
	brace := strings.IndexByte(text, '{')
	return brace >= 0 && !(brace > 0 && text[brace-1] == ':' && strings.Contains(text[:brace], "@"))
}

// closing is where the brace that was opened before text closes; -1 for nowhere.
func closing(text string) int {
	depth, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
