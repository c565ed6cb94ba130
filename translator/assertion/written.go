package assertion

import "github.com/writ-policy/writ/internal/elements"

// Written returns the class as documents write it.
func (c *Class) Written() map[string]any {
	out := make(map[string]any)
	if c.Holds != nil {
		out["holds"] = c.Holds.written()
	}
	for key, v := range c.Texts {
		out[key] = v.written()
	}
	for key, l := range c.Labels {
		out[key] = l.written()
	}
	if c.Item != nil {
		out["item"] = c.Item.Written()
	}
	return out
}

func (v *Value) written() any {
	list := elements.Map(v.Texts, func(text string) any { return text })
	if len(v.Globs) > 0 {
		list = append(list, map[string]any{"like": v.Globs})
	}
	if len(v.Prefixes) > 0 {
		list = append(list, map[string]any{"prefix": v.Prefixes})
	}
	for _, n := range v.Not {
		list = append(list, map[string]any{"not": n.written()})
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (l *Labels) written() any {
	if l.Unknown {
		return "unknown"
	}
	out := make(map[string]any)
	for _, t := range l.Terms {
		if out[t.Key] = any(map[string]any{"exists": t.Exists}); t.Value != nil {
			out[t.Key] = t.Value.written()
		}
	}
	return out
}

func (h *Holds) written() any {
	switch {
	case h.Not != nil:
		return map[string]any{"not": h.Not.written()}
	case h.Any != nil:
		list := make([]any, 0, len(h.Any))
		for _, o := range h.Any {
			list = append(list, o.written())
		}
		return list
	case h.Principal != "":
		return h.Principal
	case h.All != nil:
		return map[string]any{"all": h.All}
	case h.Only != nil:
		return map[string]any{"only": h.Only}
	case h.Globs != nil:
		return map[string]any{"like": h.Globs}
	}
	return map[string]any{"prefix": h.Prefixes}
}
