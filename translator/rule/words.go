package rule

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Request is what entries compare of a request. The zero value of a member is its absence.
type Request struct {
	Verb, Group, Resource, Subresource, Path string
	Name, Namespace                          string
	NamespaceLabels                          map[string]string // nil: not known
	tables.Scope
}

// Words are a request as one vocabulary spells it.
type Words struct {
	Request
	verb, target words
	// spellings are set for denials alone.
	spellings []Spelling
	resources []string
	// Open are attributes that are not known: a condition on one is unknown.
	Open Attributes
	// Longest is the length of the longest value that patterns are compared with: for a longer
	// one they are unknown. Zero has no limit.
	Longest int
}

// words are the entries that match a value, "*" aside.
type words struct {
	one, other string // equal to one of them ...
	more       []string
	none       bool // no entry matches, not even "*"
	whole      bool // the request is for all values
}

// hasAny reports whether an entry of a list is "*" or one of the words.
func (w *words) hasAny(entries []string) bool {
	for _, entry := range entries {
		if entry == w.one || entry == "*" || entry == w.other {
			return true
		}
		if slices.Contains(w.more, entry) {
			return true
		}
	}
	return false
}

// KubernetesWords spells a request as roles of Kubernetes do.
func KubernetesWords(r *Request) Words {
	w := Words{Request: *r, verb: words{one: r.Verb, other: r.Verb}}
	switch {
	case r.Path != "":
		w.target.none = true
	case r.Subresource == "":
		w.target.one, w.target.other = r.Resource, r.Resource
	default:
		w.target.one, w.target.other = r.Resource+"/"+r.Subresource, "*/"+r.Subresource
	}
	return w
}

// Targets returns the entries of a Kubernetes rule that match the resource, some twice.
func (w *Words) Targets() [3]string { return [3]string{"*", w.target.one, w.target.other} }

// OriginWords spells a request as roles of Origin do.
func OriginWords(r *Request) Words {
	w := Words{Request: *r, verb: originVerb(r.Verb, r.Subresource)}
	if r.Path != "" {
		w.target.none = true
		return w
	}
	w.target = originTarget(r.Resource, Subresource(r.Verb, r.Subresource))
	return w
}

func originVerb(verb, subresource string) words {
	carried := Carried(verb, subresource)
	w := words{one: carried[0], other: carried[len(carried)-1]}
	w.whole = w.one == "*" // not for a subresource that stands for a verb
	return w
}

func originTarget(resource, subresource string) words {
	if resource == "*" {
		return words{whole: true}
	}
	w := words{more: tables.KindSynonyms(strings.ToLower(resource))}
	w.one, w.other = w.more[0], w.more[0]
	if subresource == "" {
		return w
	}
	sub := "/" + strings.ToLower(subresource)
	w.other = "*" + sub
	for _, word := range w.more {
		w.more = append(w.more, word+sub)
	}
	return w
}

// Carried returns the verbs by which an Origin entry covers a request, because Kubernetes has
// more verbs than Origin. The case of verb and subresource is ignored; the result is in lower
// case and has one or two verbs.
func Carried(verb, subresource string) []string {
	verb = strings.ToLower(verb)
	if subresource != "" {
		if i := slices.Index(streaming[:], strings.ToLower(subresource)); i >= 0 {
			return Streams[i/2 : i/2+1]
		}
	}
	if strings.HasPrefix(verb, IdentityPrefix) {
		return []string{verb, Impersonate}
	}
	if wide := Wider(verb); wide != "" {
		return []string{verb, wide}
	}
	return []string{verb}
}

// wider has the verbs of Kubernetes whose requests another verb of Origin covers too.
var wider = [...][2]string{{"patch", "update"}, {"deletecollection", "delete"}}

// Wider returns the Origin verb that also covers the requests of a verb, empty without one.
func Wider(verb string) string {
	for _, w := range wider {
		if w[0] == verb {
			return w[1]
		}
	}
	return ""
}

// Narrower returns the verbs whose requests an Origin verb also covers.
func Narrower(verb string) (out []string) {
	for _, w := range wider {
		if w[1] == verb {
			out = append(out, w[0])
		}
	}
	return out
}

// streaming are the subresources that stand for each of Streams, two for one.
var streaming = [...]string{"exec", "attach", "proxy", "portforward"}

// Streaming returns the subresources whose requests are for a verb of Streams, whatever their
// own verb is.
func Streaming() []string { return streaming[:] }

// Streams are the verbs that stand for a subresource of their name.
var Streams = []string{"exec", "proxy"}

// IsStream reports whether a verb in lower case stands for a subresource.
func IsStream(verb string) bool { return verb == Streams[0] || verb == Streams[1] }

// Subresource returns the subresource of a request: in lower case the one that its verb stands
// for if it has none.
func Subresource(verb, subresource string) string {
	if subresource == "" && (len(verb) == len(Streams[0]) || len(verb) == len(Streams[1])) {
		if verb = strings.ToLower(verb); IsStream(verb) {
			return verb
		}
	}
	return subresource
}

// Spelling is a form of verb and subresource that a denial must match as well.
type Spelling struct{ Verb, Subresource string }

// Spellings returns the forms of verb and subresource of a request, the written one first.
func Spellings(verb, subresource string) []Spelling {
	lower, sub := strings.ToLower(verb), strings.ToLower(subresource)
	list := []Spelling{{verb, subresource}}
	add := func(s Spelling) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	add(Spelling{verb, sub})
	add(Spelling{lower, subresource})
	add(Spelling{lower, sub})
	if implied := Subresource(lower, subresource); implied != subresource {
		add(Spelling{verb, implied})
		add(Spelling{lower, implied})
		if implied == Streams[0] {
			add(Spelling{"create", implied})
		}
	}
	return list
}

// Resources returns the words for a resource that a denial must match as well: the written one
// first, then those in lower case for the same kind.
func Resources(resource string) []string {
	words := tables.KindSynonyms(strings.ToLower(resource))
	if words[0] != resource {
		words = append([]string{resource}, words...)
	}
	return words
}

// DenialWords spells a request in all forms that denials match.
func DenialWords(r *Request) Words {
	if r.Path != "" {
		return FormWords(r, Spellings(r.Verb, ""), []string{r.Resource})
	}
	return FormWords(r, Spellings(r.Verb, r.Subresource), Resources(r.Resource))
}

// FormWords spells a request in some forms: each spelling with each resource.
func FormWords(r *Request, spellings []Spelling, resources []string) Words {
	return Words{Request: *r, spellings: spellings, resources: resources}
}
