package statement

import (
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// KubernetesRule is a PolicyRule. The lists are those of a table's row or shorter.
type KubernetesRule tables.KubernetesRule

func (k *KubernetesRule) row() *tables.KubernetesRule { return (*tables.KubernetesRule)(k) }

// Bit returns 1 for true and 0 for false.
func Bit(matches bool) uint8 {
	if matches {
		return 1
	}
	return 0
}

// HasWord reports whether a list has a value or "*".
func HasWord(list []string, value string) bool { return rule.HasOrStar(list, value) }

// Match implements Condition.
func (k *KubernetesRule) Match(at stage, r *Request) uint8 {
	of := attributesOf[at]
	if at > stageName || at == stageName && len(k.Names) == 0 {
		return 1
	}
	var room rule.Lists
	lists := rule.Kubernetes(k.row(), &room)
	if at <= stageVerb {
		return Bit(lists.MatchOf(r.kubernetes(), of) != rule.No)
	}
	if r.Path != "" {
		return 1 // it has no group and no name
	}
	w := rule.Words{Request: rule.Request{Group: r.Group, Name: r.Name}}
	return Bit(lists.MatchOf(&w, of) != rule.No)
}

// MayMatchVerb reports whether a condition may match a request with a verb, as far as the verbs of
// a PolicyRule decide.
func MayMatchVerb(c Condition, verb string) bool {
	k, ok := c.(*KubernetesRule)
	return !ok || HasWord(k.Verbs, verb)
}

func (k *KubernetesRule) filter() *tables.NamespaceFilter { return nil }

func (k *KubernetesRule) last() stage {
	if len(k.Names) > 0 {
		return stageName
	}
	return stageGroup
}

// Mention implements Condition.
func (k *KubernetesRule) Mention(v *Values) {
	v.addLists(rule.Kubernetes(k.row(), new(rule.Lists)), false)
}

// Describe implements Condition.
func (k *KubernetesRule) Describe(s *JSON) { s.Rule = k.rule() }

func (k *KubernetesRule) rule() *Row {
	if len(k.Paths) > 0 {
		return &Row{Verbs: k.Verbs, NonResourceURLs: k.Paths}
	}
	return &Row{Verbs: k.Verbs, APIGroups: k.Groups, Resources: k.Resources, ResourceNames: k.Names}
}

// Without implements Condition.
func (k *KubernetesRule) Without(other Condition) Condition {
	o, ok := other.(*KubernetesRule)
	if !ok {
		return k
	}
	left := rule.WithoutKubernetes(k.row(), o.row())
	if left == nil {
		return nil
	}
	return (*KubernetesRule)(left)
}
