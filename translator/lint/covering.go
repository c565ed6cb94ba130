package lint

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// A rule is split into tuples of single entries, and a rule of the author must cover
// each tuple. Entries of a list that match the same rules of the author form a class,
// so the number of tuples depends on the differences between entries and not on the
// length of the lists.

// class holds entries of a list that match the same rules of the author.
type class struct {
	matches bits
	entries []string
}

// classes groups entries by the rules that they match.
func (h ruleSet) classes(entries []string, matches func(r rule.Row, deny bool, entry string) bool) []class {
	var out []class
	index := make(map[string]int)
	for _, entry := range entries {
		set := h.newBits()
		for i, r := range h.rules {
			deny := i < h.ends[0] || i >= h.ends[1] && i < h.ends[2]
			if matches(r, deny, entry) {
				set.set(i)
			}
		}
		var key []byte
		for _, word := range set {
			key = binary.LittleEndian.AppendUint64(key, word)
		}
		if at, ok := index[string(key)]; ok {
			out[at].entries = append(out[at].entries, entry)
			continue
		}
		index[string(key)] = len(out)
		out = append(out, class{set, []string{entry}})
	}
	return out
}

// maxTuples bounds the tuples that are checked for one rule.
const maxTuples = 100_000

// tooMany is reported instead of missing permissions if there are too many tuples.
const tooMany = "more combinations than are checked"

// missing lists the tuples over the dimensions that the author does not have. Each of denied says what
// a deny policy takes of allowed tuples.
func (h ruleSet) missing(dimensions [][]class, denied []denial, text func(entries []string) string) []string {
	tuples := 1
	for _, classes := range dimensions {
		if tuples *= len(classes); tuples > maxTuples {
			return []string{tooMany}
		}
	}
	var out []string
	for n := range tuples {
		picked, sets := make([]class, len(dimensions)), make([]bits, len(dimensions))
		for i := len(dimensions) - 1; i >= 0; i-- {
			picked[i] = dimensions[i][n%len(dimensions[i])]
			sets[i] = picked[i].matches
			n /= len(dimensions[i])
		}
		if h.allows(intersect(sets...)) {
			for _, d := range denied {
				for _, taken := range d.of(picked) {
					out = appendExamples(out, taken, func(t []string) string { return d.text(text(t)) })
				}
			}
		} else {
			out = appendExamples(out, picked, text)
		}
		if len(out) > maxListed {
			break
		}
	}
	return out
}

// appendExamples appends the tuples of one combination of classes, up to the number
// that a message lists.
func appendExamples(out []string, picked []class, text func(entries []string) string) []string {
	tuples := [][]string{nil}
	for _, c := range picked {
		var longer [][]string
		for _, t := range tuples {
			for _, e := range c.entries[:min(len(c.entries), maxListed+1)] {
				longer = append(longer, append(slices.Clone(t), e))
			}
		}
		tuples = longer[:min(len(longer), maxListed+1)]
	}
	return append(out, elements.Map(tuples, text)...)
}

// missingPaths checks a rule with paths, which only Kubernetes has.
func (h ruleSet) missingPaths(wanted *tables.KubernetesRule) []string {
	verbs := h.classes(wanted.Verbs, func(r rule.Row, _ bool, verb string) bool {
		return r.Kubernetes != nil && rule.HasOrStar(r.Kubernetes.Verbs, verb)
	})
	paths := h.classes(wanted.Paths, func(r rule.Row, _ bool, path string) bool {
		return r.Kubernetes != nil && slices.ContainsFunc(r.Kubernetes.Paths, func(held string) bool {
			return rule.CoversPath(held, path)
		})
	})
	return h.missing([][]class{verbs, paths}, nil, func(t []string) string { return t[0] + " " + t[1] })
}

// missingResources checks a rule with resources. In Origin the verb of a request for a
// streaming subresource is different, and two verbs stand for subresources. Verbs and
// resources are therefore partitioned, so that they are independent within each part.
func (h ruleSet) missingResources(wanted *tables.KubernetesRule) []string {
	groups := h.classes(wanted.Groups, func(r rule.Row, _ bool, group string) bool {
		return r.Origin != nil || rule.HasOrStar(r.Kubernetes.Groups, group)
	})
	named := wanted.Names
	if len(named) == 0 {
		named = []string{""}
	}
	names := h.classes(named, func(r rule.Row, _ bool, name string) bool {
		return r.Origin != nil || len(r.Kubernetes.Names) == 0 ||
			len(wanted.Names) > 0 && slices.Contains(r.Kubernetes.Names, name)
	})
	var out []string
	denied := h.denials()
	for _, stream := range partition(wanted.Resources, streamOf) {
		for _, kind := range partition(wanted.Verbs, streamVerb) {
			verbs := h.classes(kind.entries, func(r rule.Row, deny bool, verb string) bool {
				return r.MatchesVerb(deny, verb, stream.key)
			})
			resources := h.classes(stream.entries, func(r rule.Row, deny bool, resource string) bool {
				return r.MatchesResource(deny, resource, kind.key)
			})
			out = append(out, h.missing([][]class{verbs, groups, resources, names}, denied, resourceText)...)
		}
	}
	return out
}

// missingOrigin checks an Origin rule. Its tuples are pairs of positive entries,
// restricted by the negations of the rule.
func (h ruleSet) missingOrigin(wanted *tables.OriginRule) []string {
	verbs := h.classes(rule.EffectiveVerbs(wanted), func(r rule.Row, deny bool, verb string) bool {
		return r.MatchesOriginVerb(deny, verb, wanted.NotVerbs)
	})
	kinds := h.classes(rule.EffectiveKinds(wanted), func(r rule.Row, deny bool, kind string) bool {
		return r.MatchesOriginKind(deny, kind, wanted.NotKinds)
	})
	return h.missing([][]class{verbs, kinds}, h.originDenials(wanted), func(t []string) string { return t[0] + " " + t[1] })
}

func resourceText(t []string) string {
	text := t[0] + " " + t[2]
	if t[1] != "" {
		text += "." + t[1]
	}
	if t[3] != "" {
		text += " " + t[3]
	}
	return text
}

// part is entries that share a key.
type part struct {
	key     string
	entries []string
}

func partition(entries []string, keyOf func(string) string) []part {
	var out []part
	for _, entry := range entries {
		key := keyOf(entry)
		at := slices.IndexFunc(out, func(p part) bool { return p.key == key })
		if at < 0 {
			at = len(out)
			out = append(out, part{key: key})
		}
		out[at].entries = append(out[at].entries, entry)
	}
	return out
}

// streamOf returns the verb that Origin uses for a streaming subresource: exec or
// proxy, "*" if the resource may be any, or "" for other resources.
func streamOf(resource string) string {
	if resource == "*" {
		return "*"
	}
	_, sub, _ := strings.Cut(resource, "/")
	if carried := rule.Carried("get", sub); carried[0] != "get" {
		return carried[0]
	}
	return ""
}

// streamVerb returns the verb if it stands for a subresource or for all, else "".
func streamVerb(verb string) string {
	if verb = strings.ToLower(verb); rule.IsStream(verb) || verb == "*" {
		return verb
	}
	return ""
}
