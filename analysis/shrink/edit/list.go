package edit

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/syntax"
)

// Item is what becomes of an item of a list, or of a field of a mapping.
type Item struct {
	// Drop takes it out.
	Drop bool
	// Values, if not nil, are texts that stand in its place.
	Values []string
}

// List returns the changes of a list or a mapping whose key is given; items has one element
// for each item or field. If all go, the empty collection stays.
func (f *File) List(key, n *syntax.Node, items []Item) ([]Cut, error) {
	kept := slices.ContainsFunc(items, func(i Item) bool { return !i.Drop })
	switch {
	case !slices.ContainsFunc(items, func(i Item) bool { return i.Drop || i.Values != nil }):
		return nil, nil
	case f.shared[n]:
		return nil, f.layout(n)
	case f.isFlow(n):
		return f.flow(n, items, kept)
	}
	cuts, err := f.block(n, items)
	if err != nil || kept {
		return cuts, err
	}
	end, err := f.end(key)
	if err != nil {
		return nil, err
	}
	for end < len(f.Text) && f.Text[end] != ':' {
		end++
	}
	empty := map[syntax.Type]string{syntax.List: " []", syntax.Mapping: " {}"}[n.Type]
	return append(cuts, Cut{end + 1, end + 1, empty}), nil
}

// block returns the changes of a list with an item a line, or a mapping with a field a line.
func (f *File) block(n *syntax.Node, items []Item) ([]Cut, error) {
	var cuts []Cut
	limit := 0
	for i, item := range items {
		var at int
		var value *syntax.Node
		var err error
		if n.Type == syntax.List {
			value = n.Items[i]
			at, err = f.dash(value)
		} else {
			value = n.Fields[i].Value
			at, _ = f.start(n.Fields[i].Key)
		}
		if err != nil {
			return nil, err
		}
		r, err := f.blockRows(value, at)
		if err != nil {
			return nil, err
		}
		switch {
		case item.Drop:
			cuts = append(cuts, f.whole(r, limit))
		case item.Values != nil:
			start, _ := f.start(value)
			end, err := f.end(value)
			if err != nil {
				return nil, err
			}
			texts := f.quoteAll(n, item.Values)
			lead := string(f.Text[f.lines[r.first]:start]) // indentation and dash
			cuts = append(cuts, Cut{start, end, texts[0]})
			if len(texts) > 1 {
				cuts = append(cuts, f.insertLines(r.last, lead+strings.Join(texts[1:], f.newline()+lead)+f.newline()))
			}
		}
		limit = r.last + 1
	}
	return cuts, nil
}

// insertLines returns the change that adds lines after the one with an index.
func (f *File) insertLines(line int, text string) Cut {
	at := f.lineEnd(line)
	if at == len(f.Text) && (at == 0 || f.Text[at-1] != '\n' && f.Text[at-1] != '\r') {
		text = f.newline() + strings.TrimRight(text, "\r\n")
	}
	return Cut{at, at, text}
}

// element is an item between brackets: its text, and the offset after its comma.
type element struct {
	start, end, comma int
	hasComma          bool
	first, last       int // lines
}

func (f *File) elements(n *syntax.Node) ([]element, error) {
	count := len(n.Items) + len(n.Fields)
	out := make([]element, 0, count)
	for i := range count {
		var e element
		var last *syntax.Node
		if n.Type == syntax.List {
			e.start, _ = f.start(n.Items[i])
			last = n.Items[i]
		} else {
			e.start, _ = f.start(n.Fields[i].Key)
			last = n.Fields[i].Value
		}
		var err error
		if e.end, err = f.end(last); err != nil {
			return nil, err
		}
		e.comma = e.end
		for at := e.end; at < len(f.Text); at++ {
			b := f.Text[at]
			if b == '#' {
				at = f.lineEnd(f.lineOf(at)) - 1
				continue
			}
			if e.hasComma = b == ','; e.hasComma {
				e.comma = at + 1
			}
			if !strings.ContainsRune(" \t\r\n", rune(b)) {
				break
			}
		}
		e.first, e.last = f.lineOf(e.start), f.lineOf(e.comma-1)
		out = append(out, e)
	}
	return out, nil
}

// flow returns the changes of a collection with brackets.
func (f *File) flow(n *syntax.Node, items []Item, kept bool) ([]Cut, error) {
	_, open := f.start(n)
	end, err := f.end(n)
	if err != nil {
		return nil, err
	}
	if !kept {
		return []Cut{{open + 1, end - 1, ""}}, nil
	}
	list, err := f.elements(n)
	if err != nil {
		return nil, err
	}
	last := len(items) - 1
	for items[last].Drop {
		last--
	}
	var cuts []Cut
	if last < len(items)-1 && !list[len(items)-1].hasComma {
		cuts = append(cuts, Cut{list[last].comma - 1, list[last].comma, ""})
	}
	for i, item := range items {
		e := list[i]
		switch {
		case item.Values != nil:
			cuts = append(cuts, Cut{e.start, e.end, strings.Join(f.quoteAll(n, item.Values), f.separator(list, i))})
		case !item.Drop:
		case f.fillsLines(list, items, e, open, end):
			cuts = append(cuts, f.whole(rows{e.first, e.last}, f.lineOf(open)+1))
		case i < last && i+1 < len(list) && list[i+1].first == e.last:
			cuts = append(cuts, Cut{e.start, list[i+1].start, ""})
		case i > 0:
			cuts = append(cuts, Cut{list[i-1].comma, e.comma, ""})
		default:
			cuts = append(cuts, Cut{e.start, e.comma, ""})
		}
	}
	return cuts, nil
}

// fillsLines reports whether the lines of an element have nothing else that stays.
func (f *File) fillsLines(list []element, items []Item, e element, open, end int) bool {
	if f.lineOf(open) == e.first || f.lineOf(end-1) == e.last {
		return false
	}
	for i, other := range list {
		if other.first <= e.last && e.first <= other.last && !items[i].Drop {
			return false
		}
	}
	return true
}

// separator returns what stands between two items: a line each, or on one line.
func (f *File) separator(list []element, i int) string {
	e := list[i]
	lead := string(f.Text[f.lines[e.first]:e.start])
	if strings.Trim(lead, " \t") == "" && (i == 0 || list[i-1].last < e.first) && (i+1 == len(list) || list[i+1].first > e.last) {
		return "," + f.newline() + lead
	}
	return ", "
}

var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// words have another meaning than a text to some readers of YAML.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// quoteAll returns texts as items of a list, with quotes where the others have them.
func (f *File) quoteAll(n *syntax.Node, values []string) []string {
	quote := byte(0)
	if f.isJSON(n) {
		quote = '"'
	}
	for _, item := range n.Items {
		if _, at := f.start(item); item.Quoted && item.Value != "" && plain.MatchString(item.Value) && at < len(f.Text) {
			quote = f.Text[at]
		}
	}
	out := make([]string, 0, len(values))
	for _, v := range values {
		isPlain := plain.MatchString(v) && !slices.Contains(words, strings.ToLower(v))
		switch {
		case isPlain && quote == 0:
			out = append(out, v)
		case isPlain && quote == '\'':
			out = append(out, "'"+v+"'")
		default:
			out = append(out, strconv.Quote(v))
		}
	}
	return out
}
