package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// expressions are conditions in CEL with what they say, read by hand: what is not in
// the request cannot be decided, unless the rest settles it.
var expressions = map[string]func(oracle.Request) oracle.Truth{
	"request.name == '' || request.namespace in ['hammer', 'anvil']": func(r oracle.Request) oracle.Truth {
		return oracle.Of(r.Name == "" || r.Namespace == "hammer" || r.Namespace == "anvil")
	},
	"request.labels['tier'] == 'gold'": func(r oracle.Request) oracle.Truth {
		tier, there := r.Labels["tier"]
		if !there {
			return oracle.Undecidable
		}
		return oracle.Of(tier == "gold")
	},
	"has(request.labels) && !request.labels.exists(k, k == 'protected')": func(r oracle.Request) oracle.Truth {
		_, protected := r.Labels["protected"]
		return oracle.Of(r.Labels != nil && !protected)
	},
	"request.attributes.minion.startsWith('n') || request.user == 'alice'": func(r oracle.Request) oracle.Truth {
		minion, isText := r.Attributes["minion"].(string)
		switch {
		case r.User == "alice" || isText && strings.HasPrefix(minion, "n"):
			return oracle.Yes
		case isText:
			return oracle.No
		}
		return oracle.Undecidable
	},
	"size(request.groups) > 1 && request.fields.all(f, f != 'spec')": func(r oracle.Request) oracle.Truth {
		switch {
		case len(r.Groups) <= 1:
			return oracle.No
		case r.Fields == nil:
			return oracle.Undecidable
		}
		if slices.Contains(r.Fields, "spec") {
			return oracle.No
		}
		return oracle.Yes
	},
}
