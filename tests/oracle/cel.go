package oracle

import "strings"

// expressions are conditions in CEL with what they say, read by hand: what is not in
// the request cannot be decided, unless the rest settles it.
var expressions = map[string]func(Request) Truth{
	"request.name == '' || request.namespace in ['hammer', 'anvil']": func(r Request) Truth {
		return of(r.Name == "" || r.Namespace == "hammer" || r.Namespace == "anvil")
	},
	"request.labels['tier'] == 'gold'": func(r Request) Truth {
		tier, there := r.Labels["tier"]
		if !there {
			return Undecidable
		}
		return of(tier == "gold")
	},
	"has(request.labels) && !request.labels.exists(k, k == 'protected')": func(r Request) Truth {
		_, protected := r.Labels["protected"]
		return of(r.Labels != nil && !protected)
	},
	"request.attributes.minion.startsWith('n') || request.user == 'alice'": func(r Request) Truth {
		minion, isText := r.Attributes["minion"].(string)
		switch {
		case r.User == "alice" || isText && strings.HasPrefix(minion, "n"):
			return Yes
		case isText:
			return No
		}
		return Undecidable
	},
	"size(request.groups) > 1 && request.fields.all(f, f != 'spec')": func(r Request) Truth {
		switch {
		case len(r.Groups) <= 1:
			return No
		case r.Fields == nil:
			return Undecidable
		}
		for _, field := range r.Fields {
			if field == "spec" {
				return No
			}
		}
		return Yes
	},
}
