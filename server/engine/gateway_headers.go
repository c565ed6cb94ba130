package engine

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// successHeaders is the prefix of the keys of rules that set headers.
const successHeaders = "rules.response.success.headers."

// headersOf returns, by path, the headers that its policy can set, in lower case.
func headersOf(g *tables.Gateway) map[decision.GatewayTarget][]string {
	if g == nil {
		return nil
	}
	all := make(map[decision.GatewayTarget][]string)
	for _, path := range g.Paths {
		index, found := path.Effective["AuthPolicy"]
		if !found {
			continue
		}
		var names []string
		for i := range g.Effective[index].Rules {
			if name := headerOf(&g.Effective[index].Rules[i]); name != "" {
				names = append(names, strings.ToLower(name))
			}
		}
		if names != nil {
			slices.Sort(names)
			all[decision.GatewayTarget{Gateway: g.ListenerName(path), Route: g.RuleName(path)}] = slices.Compact(names)
		}
	}
	return all
}

// headerOf returns the header that a rule sets, or "".
func headerOf(rule *tables.EffectiveRule) string {
	name, found := strings.CutPrefix(rule.Key, successHeaders)
	if !found {
		return ""
	}
	if value, ok := rule.Value.(map[string]any); ok {
		if key, ok := value["key"].(string); ok && key != "" {
			return key
		}
	}
	return name
}

// withheld are the headers that the policies of the paths can set and an allowed
// request does not get.
func (e *Engine) withheld(d *decision.GatewayDecision, paths []decision.GatewayTarget) []string {
	if !d.Allowed {
		return nil
	}
	set := make(map[string]bool, len(d.Headers))
	for name := range d.Headers {
		set[strings.ToLower(name)] = true
	}
	var names []string
	for _, path := range paths {
		for _, name := range e.headers[path] {
			if !set[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
