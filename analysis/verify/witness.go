package verify

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// usualVerbs are tried first for a witness.
var usualVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// best returns the plainest witness of some requests that break the assertion, nil without
// any.
func (p *prover) best(list []found) (*Witness, error) {
	var best *draft
	for _, f := range list {
		d := p.draftOf(f)
		if !d.accept() {
			if d.err != nil {
				return nil, d.err
			}
			return nil, disagreement(p.a, d.requests)
		}
		d.polish()
		if best == nil || slices.Compare(d.cost(), best.cost()) < 0 {
			best = d
		}
	}
	if best == nil {
		return nil, nil
	}
	return best.witness(), nil
}

// vary lets the engine decide variants of a request that may break the assertion.
func (p *prover) vary(f found) (*Witness, error) {
	variants := []map[string]any{{}}
	for _, t := range f.opaque {
		if t.Opaque == statement.WhyPod {
			for _, pod := range statement.PodsOf(p.all.index.world) {
				variants = append(variants, map[string]any{"pod": pod})
			}
			continue
		}
		for _, object := range statement.Variants(p.all.index.world, f.r, t, statement.MaxOpaqueTries) {
			if attributes, given := object["attributes"]; given {
				variants = append(variants, map[string]any{"attributes": attributes})
			}
		}
	}
	for _, facts := range variants {
		d := p.draftOf(f)
		if len(facts) > 0 {
			d.r.Facts = maps.Clone(facts)
		}
		if d.accept() {
			d.polish()
			return d.witness(), nil
		}
		if d.err != nil {
			return nil, d.err
		}
	}
	return nil, nil
}

// draft is a witness that becomes plainer.
type draft struct {
	p        *prover
	r        *statement.Request
	held     []string
	asks     []ask
	requests []WitnessRequest
	err      error
	// check replaces the conditions of the assertion, if it is not nil; then who asks is
	// fixed. class is a further class of the request.
	check func(d *draft, got []string) bool
	class *assertion.Class
}

func (p *prover) draftOf(f found) *draft {
	return &draft{p: p, r: f.r.Clone(), held: f.held, asks: p.asks()}
}

func (d *draft) witness() *Witness {
	return &Witness{In: inClass, Requests: d.requests, r: d.r, held: d.held}
}

// accept reports whether the draft is a witness.
func (d *draft) accept() bool {
	// The class is asked first: most changes of a draft leave it, and the engine takes longer.
	if d.requests != nil && d.check == nil && !d.p.isIn(d.r, d.held) {
		return false
	}
	requests, got, err := d.p.decide(d.r, d.held, d.asks)
	if err != nil {
		d.err = err
		return false
	}
	if d.requests == nil {
		d.requests = requests
	}
	fits := false
	if d.check != nil {
		fits = d.check(d, got)
	} else {
		fits = d.p.breaks(d.r, got) && d.p.isIn(d.r, d.held)
	}
	if fits {
		if fits, d.err = d.p.isNew(d.r, d.held); d.err != nil {
			return false
		}
	}
	if fits {
		d.requests = requests
	}
	return fits
}

// change keeps a change of the draft if it is still a witness.
func (d *draft) change(set func(*statement.Request)) bool {
	before := d.r
	next := d.r.Clone()
	set(next)
	if statement.JSONText(d.p.object(before, d.held)) == statement.JSONText(d.p.object(next, d.held)) {
		return true
	}
	d.r = next
	if d.valid() && d.accept() {
		return true
	}
	d.r, d.err = before, nil
	return false
}

func (d *draft) valid() bool {
	if d.p.a.Point == assertion.Visibility {
		return d.r.Cluster != ""
	}
	return (d.r.Path != "") != (d.r.Resource != "") && d.r.Verb != ""
}

// polish makes the witness as small and as ordinary as it can be.
func (d *draft) polish() {
	if d.p.a.Point == assertion.Visibility {
		d.polishView()
		return
	}
	words := d.words()
	for range 2 {
		if d.check == nil {
			d.fewerPrincipals()
		}
		for _, drop := range []func(*statement.Request){
			func(r *statement.Request) { r.Facts = nil },
			func(r *statement.Request) { r.Labels = nil },
			func(r *statement.Request) { r.NamespaceLabels = nil },
			func(r *statement.Request) { r.Fields = nil },
			func(r *statement.Request) { r.LabelSelector, r.FieldSelector = nil, nil },
			func(r *statement.Request) { r.Minion, r.PodMinion = "", "" },
			func(r *statement.Request) { r.Issuer = "" },
		} {
			d.change(drop)
		}
		scope := tables.ScopeKeys()
		for _, key := range append(scope[1:], scope[0]) { // others may follow from the cluster
			d.choose(key, slices.Concat([]string{""}, words[key]))
		}
		if d.r.Path != "" {
			d.choose("path", words["path"])
		} else {
			d.chooseTarget(words)
			d.chooseNamespace(words["namespace"])
			d.choose("name", slices.Concat([]string{""}, words["name"]))
		}
		d.choose("verb", words["verb"])
	}
}

// choose takes the first value of a key that keeps the witness.
func (d *draft) choose(key string, values []string) {
	for _, value := range values {
		if d.change(func(r *statement.Request) { *r.Texts()[key] = value }) {
			return
		}
	}
}

func (d *draft) chooseNamespace(values []string) {
	if !vocabulary.IsNamespaced(d.r.Resource) {
		if _, served := vocabulary.GroupOf(d.r.Resource); served {
			values = append([]string{""}, values...)
		}
	}
	d.choose("namespace", values)
}

// chooseTarget takes the first resource, with its subresource and API group, that keeps the
// witness: one without both before one with one of them.
func (d *draft) chooseTarget(words map[string][]string) {
	const most = 300
	tried := 0
	for keys := range 3 {
		for _, resource := range words["resource"] {
			for _, sub := range words["subresource"] {
				for _, group := range words["apiGroup"] {
					if int(statement.Bit(sub != "")+statement.Bit(group != "")) != keys {
						continue
					}
					if tried++; tried > most {
						return
					}
					if d.change(func(r *statement.Request) { r.Resource, r.Subresource, r.Group = resource, sub, group }) {
						return
					}
				}
			}
		}
	}
}

// words returns the values to try for each key: those of the class, those of documents, and
// made-up ones.
func (d *draft) words() map[string][]string {
	p := d.p
	out := make(map[string][]string)
	keys := slices.Sorted(maps.Keys(new(statement.Request).Texts()))
	classes := p.a.Of
	if d.class != nil {
		classes = slices.Concat([]*assertion.Class{d.class}, classes)
	}
	addWords(out, classes)
	own := maps.Clone(out)
	out["verb"] = append(out["verb"], usualVerbs...)
	out["subresource"] = append(out["subresource"], "")
	out["apiGroup"] = append(out["apiGroup"], "")
	documents := make(map[string][]string)
	worlds := []*world{p.all}
	if p.other != nil {
		worlds = append(worlds, p.other)
	}
	for _, w := range worlds {
		for _, t := range w.index.of(d.held) {
			for key, words := range t.Words() {
				documents[key] = append(documents[key], words...)
			}
		}
	}
	documents["namespace"] = append(documents["namespace"], p.all.index.places()...)
	for i := range p.a.Entries {
		for key, words := range statement.InEntry(&p.a.Entries[i]).Words() {
			documents[key] = append(documents[key], words...)
		}
	}
	addWords(documents, p.out)
	for _, key := range keys {
		out[key] = append(out[key], documents[key]...)
		for _, c := range slices.Concat(classes, p.out) {
			out[key] = append(out[key], c.Texts[key].Samples()...)
		}
		switch key {
		case "resource":
			out[key] = append(out[key], "pods")
		case "path":
			out[key] = append(out[key], "/"+assertion.MadeUp)
		default:
			out[key] = append(out[key], assertion.MadeUp)
		}
		star := slices.Contains(own[key], "*")
		out[key] = slices.DeleteFunc(tables.Once(out[key]), func(w string) bool {
			return w == "*" && !star || w == "" && (key == "namespace" || key == "verb" || key == "resource" || key == "path")
		})
	}
	return out
}

// addWords adds the literals of classes, by key.
func addWords(out map[string][]string, classes []*assertion.Class) {
	for _, c := range classes {
		for _, key := range slices.Sorted(maps.Keys(c.Texts)) {
			for _, word := range c.Texts[key].Words() {
				if key == "resource" && word != "*" {
					e := statement.ParseResource(word)
					out["subresource"], out["apiGroup"], word = append(out["subresource"], e.Sub), append(out["apiGroup"], e.Group), e.Word
				}
				out[key] = append(out[key], word)
			}
		}
	}
}

// fewerPrincipals takes away principals, and gives those without a name plain ones.
func (d *draft) fewerPrincipals() {
	try := func(held []string) bool {
		before := d.held
		d.held = held
		if len(held) > 0 && d.accept() {
			return true
		}
		d.held, d.err = before, nil
		return false
	}
	for i := 0; i < len(d.held); {
		if !try(slices.Delete(slices.Clone(d.held), i, i+1)) {
			i++
		}
	}
	for i, p := range d.held {
		if d.p.askers.named[p] {
			continue
		}
		for _, plain := range d.p.askers.unnamed {
			if plain == p || try(tables.Entries(append(slices.Delete(slices.Clone(d.held), i, i+1), plain))) {
				break
			}
		}
	}
}

// cost orders witnesses: fewer principals, then fewer keys, then more usual verbs.
func (d *draft) cost() []int {
	object := d.p.object(d.r, d.held)
	for _, key := range []string{"user", "groups", "namespace"} {
		delete(object, key)
	}
	if d.p.a.Point == assertion.Visibility {
		return []int{len(d.held), len(object) + d.viewSize(), int(statement.Bit(d.r.Facts["action"] != view))}
	}
	verb := slices.Index(usualVerbs, d.r.Verb)
	unusual := statement.Bit(d.r.Resource == "*" || d.r.Verb == "*" || verb < 0)
	return []int{len(d.held), len(object), int(unusual)}
}
