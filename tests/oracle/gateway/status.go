package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Condition is a condition of a policy or of a target.
type Condition struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Status  string `json:"status"`
	Type    string `json:"type"`
}

// conditions are those of a policy.
func (w *World) conditions(p *Policy) []Condition {
	if w.reported[p] == nil {
		w.reported[p] = []Condition{{p.Kind + " has been accepted", "Accepted", "True", "Accepted"}, w.enforced(p)}
	}
	return w.reported[p]
}

func (w *World) enforced(p *Policy) Condition {
	var folds []*Fold
	for _, path := range w.Paths() {
		if _, on := p.on(path); on {
			folds = append(folds, w.fold(path, p.Kind))
		}
	}
	if len(folds) == 0 {
		return Condition{p.Kind + " has encountered some issues: it is not in the path to any existing route", "Unknown", "False", "Enforced"}
	}
	counted, lives, everywhere := false, false, true
	var by []string // of all losses
	lost := map[string][]string{}
	added := map[string][]string{}
	for _, f := range folds {
		for _, key := range p.keys() {
			live := f.Sources[key] == p
			if !live && !p.applied(f, key) {
				continue
			}
			counted, lives, everywhere = true, lives || live, everywhere && live
			for _, loss := range f.Replaced {
				if loss.Policy != p || loss.Rule != key || loss.How == "condition" {
					continue
				}
				by = append(by, loss.By...)
				if !live {
					who := strings.Join(pathsOf(loss.By), ", ")
					lost[who] = append(lost[who], key)
				}
			}
		}
		f.added(p, added)
	}
	switch {
	case !counted:
		if who := wipedBy(p, folds); len(who) > 0 {
			return Condition{p.Kind + " has been overridden by " + strings.Join(who, ", "), "Overridden", "False", "Enforced"}
		}
	case !lives:
		return Condition{p.Kind + " has been overridden by " + strings.Join(pathsOf(by), ", "), "Overridden", "False", "Enforced"}
	}
	var parts []string
	reason := "Enforced"
	if counted && !everywhere {
		reason = "PartiallyEnforced"
		for _, who := range slices.Sorted(maps.Keys(lost)) {
			parts = append(parts, fmt.Sprintf("the following rules have been overridden by %s: %s", who, listed(lost[who])))
		}
	}
	for _, q := range slices.Sorted(maps.Keys(added)) {
		parts = append(parts, fmt.Sprintf("the following defaults have been added by %s: %s", q, listed(added[q])))
	}
	message := p.Kind + " has been successfully enforced"
	if len(parts) > 0 {
		message += ". " + sentence(parts)
	}
	return Condition{message, reason, "True", "Enforced"}
}

// keys are those of all rules of a policy.
func (p *Policy) keys() []string {
	keys := map[string]bool{}
	for _, block := range []*Block{p.Bare, p.Defaults, p.Overrides} {
		if block != nil {
			for key := range block.Rules {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// applied reports whether a rule stands in a block of the policy whose condition held.
func (p *Policy) applied(f *Fold, key string) bool {
	for _, block := range []*Block{p.Bare, p.Defaults, p.Overrides} {
		if block == nil || f.idle[block] {
			continue
		}
		if _, there := block.Rules[key]; there {
			return true
		}
	}
	return false
}

// added collects the merged defaults of higher policies that stand beside a living
// rule of the policy, by policy.
func (f *Fold) added(p *Policy, to map[string][]string) {
	lives := slices.Contains(slices.Collect(maps.Values(f.Sources)), p)
	place := slices.Index(f.Policies, p)
	if !lives {
		return
	}
	for key, q := range f.Sources {
		if slices.Index(f.Policies, q) < place && f.blocks[key] == q.Defaults && q.Defaults.Merge {
			to[q.path()] = append(to[q.path()], key)
		}
	}
}

// wipedBy are the policies that wiped the unsets of one that only unsets; none
// unless it is so on all of its paths.
func wipedBy(p *Policy, folds []*Fold) []string {
	if p.Bare != nil || p.Defaults != nil || p.Overrides != nil {
		return nil
	}
	var who []string
	for _, f := range folds {
		if f.wiped[p] == nil {
			return nil
		}
		who = append(who, f.wiped[p].path())
	}
	slices.Sort(who)
	return slices.Compact(who)
}

// pathsOf are the names of located policies in messages, each once, sorted.
func pathsOf(locators []string) []string {
	var names []string
	for _, locator := range locators {
		_, name, _ := strings.Cut(locator, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listed lists names, each once, sorted.
func listed(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func sentence(parts []string) string {
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// affected is the condition of a target, of which some sections count.
func affected(kind string, sections []gateSection) Condition {
	by := map[string][]string{} // policy to sections
	covered := 0
	for _, s := range sections {
		names := map[string]bool{}
		for _, p := range s.policies {
			names[p.path()] = true
		}
		for name := range names {
			by[name] = append(by[name], s.name)
		}
		if len(names) > 0 {
			covered++
		}
	}
	c := Condition{"The object is not affected by any " + kind, "Unaffected", "False", "kuadrant.io/" + kind + "Affected"}
	if covered == 0 {
		return c
	}
	c.Status, c.Reason = "True", "PartiallyAffected"
	if covered == len(sections) {
		c.Reason = "Affected"
	}
	var all, parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if len(by[name]) == len(sections) {
			all = append(all, name)
			continue
		}
		parts = append(parts, fmt.Sprintf("the following sections of the object are affected by %s %s: %s", kind, name, strings.Join(by[name], ", ")))
	}
	if len(all) > 0 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("the object is affected by %s %s", kind, strings.Join(all, ", ")))
	}
	c.Message = sentence(parts)
	return c
}

// gateSection is a section of a target, with the policies that are sources there.
type gateSection struct {
	name     string
	policies []*Policy
}
