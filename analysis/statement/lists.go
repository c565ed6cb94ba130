package statement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// spelled are the words of a request under construction. They are computed when the first
// statement needs them, for all statements that are matched with it, and kept when later stages
// choose parts that are not spelled.
type spelled struct {
	kubernetes, origin, denial *rule.Words
	streams                    []Request // the request with each of rule.Streams as its verb
}

// asked returns what rules compare of a request.
func (r *Request) asked() rule.Request {
	return rule.Request{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Path: r.Path,
		Name: r.Name, Namespace: r.Namespace, NamespaceLabels: r.NamespaceLabels,
		Scope: r.Scope}
}

// words returns the words of a request in a vocabulary, which place keeps for it.
func (r *Request) words(place func(*spelled) **rule.Words, spell func(*rule.Request) rule.Words) *rule.Words {
	if r.spelled == nil {
		asked := r.asked()
		w := spell(&asked)
		return &w
	}
	kept := place(r.spelled)
	if *kept == nil || !r.isSpelledAs(*kept) {
		asked := r.asked()
		w := spell(&asked)
		*kept = &w
	}
	return *kept
}

// isSpelledAs reports whether the words of a request are those.
func (r *Request) isSpelledAs(w *rule.Words) bool {
	return r.Verb == w.Verb && r.Resource == w.Resource && r.Subresource == w.Subresource && r.Group == w.Group && r.Path == w.Path
}

// asStreams returns the request, which has no subresource, with each of rule.Streams as its verb.
func (r *Request) asStreams() []Request {
	if r.spelled != nil && len(r.spelled.streams) > 0 && r.spelled.streams[0].Resource == r.Resource {
		return r.spelled.streams
	}
	all := make([]Request, len(rule.Streams))
	for i, verb := range rule.Streams {
		all[i] = *r
		all[i].Verb, all[i].spelled = verb, new(spelled)
	}
	if r.spelled != nil {
		r.spelled.streams = all
	}
	return all
}

func (r *Request) kubernetes() *rule.Words {
	return r.words(func(s *spelled) **rule.Words { return &s.kubernetes }, rule.KubernetesWords)
}

func (r *Request) origin() *rule.Words {
	return r.words(func(s *spelled) **rule.Words { return &s.origin }, rule.OriginWords)
}

func (r *Request) denial() *rule.Words {
	return r.words(func(s *spelled) **rule.Words { return &s.denial }, rule.DenialWords)
}

// attributesOf are the attributes that stages choose.
var attributesOf = [stages]rule.Attributes{
	stageTarget: rule.Set(rule.Target, rule.Path), stageVerb: rule.Set(rule.Verb), stageGroup: rule.Set(rule.Group), stageName: rule.Set(rule.Name),
	stageNamespace: rule.Set(rule.Namespace), StageCluster: rule.Set(rule.Cluster), stageScope: rule.Scopes &^ rule.Referred &^ rule.Set(rule.Cluster),
	stageReferred: rule.Referred,
}

// until returns the attributes that the stages until one choose.
func until(at stage) (of rule.Attributes) {
	for s := range at + 1 {
		of |= attributesOf[s]
	}
	return of
}

// byVerb returns a bit for each kind of verb that a later stage may choose: one that stands
// for a subresource, if the request has none, or another one.
func byVerb(r *Request, matches func(*Request) bool) uint8 {
	bits := Bit(matches(r))
	if r.Subresource == "" && r.Path == "" {
		streams := r.asStreams()
		for i := range streams {
			bits |= Bit(matches(&streams[i])) << (i + 1)
		}
	}
	return bits
}

// bitsOf returns a bit for each alternative of a rule that the stages until one leave. A request
// has no verb at stageTarget.
func bitsOf(alternatives rule.Rule, at stage, r *Request) uint8 {
	if at == stageTarget {
		return byVerb(r, func(r *Request) bool { return alive(alternatives, r.denial(), attributesOf[at]) != 0 })
	}
	w := r.denial()
	if at > stageGroup { // the words may be those of an earlier stage
		now := *w
		now.Request, w = r.asked(), &now
		own := alive(alternatives, w, attributesOf[at])
		if own == 0 || own == 1<<len(alternatives)-1 {
			return own
		}
		return own & alive(alternatives, w, until(at))
	}
	return alive(alternatives, w, until(at))
}

func alive(alternatives rule.Rule, w *rule.Words, of rule.Attributes) (bits uint8) {
	for i, a := range alternatives {
		bits |= Bit(a.MatchOf(w, of) != rule.No) << i
	}
	return bits
}

// addLists adds what the lists of a rule tell apart. Where they fold, words match in any case,
// and kinds in any number.
func (v *Values) addLists(lists rule.Alternative, folds bool) {
	v.folds = v.folds || folds
	for _, l := range lists {
		entries, d := slices.Concat(l.Any, l.Not), cmp.Or(l.Denied, new(rule.Denied))
		switch l.Of {
		case rule.Verb:
			v.addVerbs(&l, entries, folds)
			for _, prefix := range d.Prefixes {
				v.verbs.Add(prefix + "user-info")
			}
		case rule.Group:
			v.groups.Add(entries...)
		case rule.Path:
			v.addPathEntries(entries)
		case rule.Target:
			for _, entry := range entries {
				if folds {
					v.addKind(entry)
				} else {
					v.addResource(entry)
				}
			}
			if v.addTargets(d.Targets); folds { // a verb may stand for a subresource
				v.verbs.addFolded(rule.Streams...)
			}
			v.subresources.addGlobs(d.Keys)
		case rule.Name:
			v.names.Add(entries...)
			v.names.addGlobs(d.Globs)
		case rule.Namespace:
			v.addFilter(d.Filter)
		default:
			if i, ok := l.Of.ScopeIndex(); ok {
				v.scope[i].Add(entries...)
				v.scope[i].addGlobs(d.Globs)
			}
		}
	}
}

// addVerbs adds verbs, and those that they carry too.
func (v *Values) addVerbs(l *rule.List, verbs []string, folds bool) {
	if !folds {
		v.verbs.Add(verbs...)
		return
	}
	for _, verb := range verbs {
		v.addWord(&v.verbs, verb)
		if !l.Star {
			continue
		}
		for _, narrower := range rule.Narrower(strings.ToLower(verb)) {
			v.addWord(&v.verbs, narrower)
		}
		if strings.EqualFold(verb, rule.Impersonate) {
			v.verbs.Add(rule.IdentityPrefix + "user-info")
		}
	}
}

func (v *Values) addPathEntries(entries []string) {
	for _, entry := range entries {
		prefix := strings.TrimRight(entry, "*")
		v.paths.Add(prefix)
		if prefix != entry {
			v.paths.Add(prefix + "x")
			v.prefixes = append(v.prefixes, prefix)
		}
	}
}

func (v *Values) addTargets(targets []tables.DenyResource) {
	for i := range targets {
		for _, resource := range targets[i].Resources {
			v.addKind(resource)
		}
		for _, sub := range targets[i].Subresources {
			v.addWord(&v.subresources, sub)
		}
	}
}
