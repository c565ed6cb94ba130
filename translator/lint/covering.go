package lint

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/lower"
)

// A rule is split into single tuples, and each must be covered by one rule of
// the author's. Entries of a list that the same rules meet are one class, so the
// tuples are as many as there are differences, not products of long lists.

// class is entries of a list that no rule of the author's tells apart.
type class struct {
	meets   bits
	entries []string
}

// classes groups entries by the rules they meet.
func (h held) classes(entries []string, meets func(r rule, deny bool, entry string) bool) []class {
	var out []class
	index := make(map[string]int)
	for _, entry := range entries {
		set := h.newBits()
		for i, r := range h.rules {
			deny := i < h.ends[0] || i >= h.ends[1] && i < h.ends[2]
			if meets(r, deny, entry) {
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

// maxTuples bounds the tuples looked at for one rule.
const maxTuples = 100_000

// tooMany stands for what is missing where nobody looked.
const tooMany = "more combinations than are checked"

// missing lists the tuples over the dimensions that the author does not hold.
func (h held) missing(dimensions [][]class, text func(entries []string) string) []string {
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
			sets[i] = picked[i].meets
			n /= len(dimensions[i])
		}
		if !h.has(and(sets...)) {
			out = appendExamples(out, picked, text)
		}
		if len(out) > maxListed {
			break
		}
	}
	return out
}

// appendExamples writes out the tuples of one combination of classes, as many as
// a message lists.
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
	for _, t := range tuples {
		out = append(out, text(t))
	}
	return out
}

// missingPaths is for a rule of paths, which only Kubernetes' rules know.
func (h held) missingPaths(wanted *lower.KubernetesRule) []string {
	verbs := h.classes(wanted.Verbs, func(r rule, _ bool, verb string) bool {
		return r.kubernetes != nil && hasOrStar(r.kubernetes.Verbs, verb)
	})
	paths := h.classes(wanted.Paths, func(r rule, _ bool, path string) bool {
		return r.kubernetes != nil && slices.ContainsFunc(r.kubernetes.Paths, func(held string) bool {
			return lower.CoversPath(held, path)
		})
	})
	return h.missing([][]class{verbs, paths}, func(t []string) string { return t[0] + " " + t[1] })
}

// missingResources is for a rule of resources. Origin carries a verb otherwise
// on streaming subresources, and two verbs stand for subresources: within one
// box of both kinds verbs and resources do not depend on each other.
func (h held) missingResources(wanted *lower.KubernetesRule) []string {
	groups := h.classes(wanted.Groups, func(r rule, _ bool, group string) bool {
		return r.origin != nil || hasOrStar(r.kubernetes.Groups, group)
	})
	named := wanted.Names
	if len(named) == 0 {
		named = []string{""}
	}
	names := h.classes(named, func(r rule, _ bool, name string) bool {
		return r.origin != nil || len(r.kubernetes.Names) == 0 ||
			len(wanted.Names) > 0 && slices.Contains(r.kubernetes.Names, name)
	})
	var out []string
	for _, stream := range partition(wanted.Resources, streamOf) {
		for _, kind := range partition(wanted.Verbs, streamVerb) {
			verbs := h.classes(kind.entries, func(r rule, deny bool, verb string) bool {
				return meetsVerb(r, deny, verb, stream.key)
			})
			resources := h.classes(stream.entries, func(r rule, deny bool, resource string) bool {
				return meetsResource(r, deny, resource, kind.key)
			})
			out = append(out, h.missing([][]class{verbs, groups, resources, names}, resourceText)...)
		}
	}
	return out
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

// streamOf is the streaming subresource whose verb Origin carries for a
// resource: exec, proxy, "*" where all may be meant, else empty.
func streamOf(resource string) string {
	if resource == "*" {
		return "*"
	}
	_, sub, _ := strings.Cut(resource, "/")
	if carried := lower.Carried("get", sub); carried[0] != "get" {
		return carried[0]
	}
	return ""
}

// streamVerb is the verb itself where it stands for a subresource, or for all.
func streamVerb(verb string) string {
	if verb = strings.ToLower(verb); verb == "exec" || verb == "proxy" || verb == "*" {
		return verb
	}
	return ""
}

func hasOrStar(entries []string, wanted string) bool {
	return slices.Contains(entries, "*") || slices.Contains(entries, wanted)
}
