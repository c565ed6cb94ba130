package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// podChange is a PodChange of a class.
type podChange PodChange

// maxPodChanges is how many smallest pods a class lists.
const maxPodChanges = 20

// pods compares pod security. Each policy whose pod security differs gives a class, if a
// pod is found that the revisions decide differently.
func (c *comparison) pods(a, b *space) error {
	sideA, sideB := c.side(a, b, "a", "b", statement.PointAccess, statement.OutcomeNone), c.side(b, a, "b", "a", statement.PointAccess, statement.OutcomeNone)
	onlyA, onlyB := podsOf(sideA), podsOf(sideB)
	names := tables.Entries(slices.Concat(slices.Collect(maps.Keys(onlyA)), slices.Collect(maps.Keys(onlyB))))
	for _, name := range names {
		k := &class{point: statement.PointAccess, why: []string{statement.WhyPod}, all: [][]*member{{}}}
		var own []*statement.Statement
		if s := onlyB[name]; s != nil {
			k.all[0] = append(k.all[0], sideB.own(s))
			own = append(own, s)
		}
		if s := onlyA[name]; s != nil {
			k.all[0] = append(k.all[0], sideA.own(s))
			own = append(own, s)
		}
		if complete := c.tryPods(k, own, sideB); !complete {
			k.why, k.changes = append(k.why, statement.WhyPattern), changeKinds[:4]
		}
		if len(k.transitions) > 0 || len(k.why) > 1 {
			if err := c.add(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// podsOf returns the pod security of x that y lacks, by policy, and by the user and the
// cluster of a session.
func podsOf(d *side) map[string]*statement.Statement {
	out := make(map[string]*statement.Statement)
	for _, s := range d.x.everyone {
		if s.Opaque == statement.WhyPod && !slices.ContainsFunc(d.y.everyone, func(t *statement.Statement) bool { return statement.ContentOf(t) == statement.ContentOf(s) }) {
			out[s.Documents[0].Name] = s
		}
	}
	x, y := d.x.world.Sessions(), d.y.world.Sessions()
	for _, user := range x.Users() {
		others := y.PodSecurity(user)
		for _, s := range x.PodSecurity(user) {
			if !slices.ContainsFunc(others, func(t *statement.Statement) bool { return statement.ContentOf(t) == statement.ContentOf(s) }) {
				out[s.Documents[0].Name+"\x00"+user+"\x00"+s.Cluster()] = s
			}
		}
	}
	return out
}

// tryPods lets both revisions decide requests that differ in the pod and in what exempts
// it. It returns false if a request may exist that it did not try.
func (c *comparison) tryPods(k *class, own []*statement.Statement, d *side) bool {
	others := otherPods(own, d)
	objects, complete := c.podRequests(own, others, d)
	pods, all := podsToTry(own, others, slices.Concat(c.a.World.Overrides(), c.b.World.Overrides()))
	labels := []map[string]string{nil}
	merged := make(map[string]string)
	for _, l := range slices.Concat(c.a.World.ExemptLabels(), c.b.World.ExemptLabels()) {
		labels = append(labels, l)
		maps.Copy(merged, l)
	}
	labels = distinctLabels(append(labels, merged))
	for _, object := range objects {
		d.recordPod(k, object)
		for _, l := range labels {
			for _, band := range pods {
				if d.recordPod(k, withPod(object, band[0], l)) {
					d.listPods(k, band, func(factors map[string]int) map[string]any { return withPod(object, factors, l) })
				}
			}
		}
	}
	return complete && all
}

// distinctLabels returns each of some label sets once: most are in both revisions.
func distinctLabels(list []map[string]string) []map[string]string {
	var out []map[string]string
	for _, l := range list {
		if !slices.ContainsFunc(out, func(o map[string]string) bool { return maps.Equal(o, l) }) {
			out = append(out, l)
		}
	}
	return out
}

// otherPods returns the pod security of other policies, each content once.
func otherPods(own []*statement.Statement, d *side) []*statement.Statement {
	known := make(map[string]bool)
	return slices.DeleteFunc(opaqueOf(slices.Concat(d.x.everyone, d.y.everyone)), func(t *statement.Statement) bool {
		of := func(s *statement.Statement) bool { return t.Documents[0].Name == s.Documents[0].Name }
		if slices.ContainsFunc(own, of) || known[statement.ContentOf(t)] {
			return true
		}
		known[statement.ContentOf(t)] = true
		return false
	})
}

func withPod(object map[string]any, factors map[string]int, labels map[string]string) map[string]any {
	return statement.With(object, "pod", statement.PodOf(factors, labels))
}

// podRequests returns requests for pods that no other statement denies, one for each
// combination of what exempts and of what an escalation overrides. Requests that one of
// the policy's two forms does not ask about are among them.
func (c *comparison) podRequests(own, others []*statement.Statement, d *side) (objects []map[string]any, complete bool) {
	complete = true
	everyone := slices.Concat(d.x.everyone, d.y.everyone)
	denials := exactOf(everyone)
	contexts := exemptions(own, others)
	escalations := byGroup(slices.Concat([]*tables.Escalation{nil}, c.a.World.Escalations(), c.b.World.Escalations()))
	for _, s := range own {
		rivals := slices.DeleteFunc(slices.Clone(own), func(t *statement.Statement) bool { return t == s })
		all, principal := *s, d.filter.subject
		if s.Session != nil {
			all.Subjects, principal = nil, s.Subjects[0]
		}
		for _, by := range d.askers(&all, denials, &group{principals: []string{principal}}) {
			for _, at := range contexts {
				for _, e := range escalations {
					for _, avoid := range avoided(denials, others, rivals) {
						r, cut := c.podRequest(by.principal, e, slices.Concat(at.must, by.must, []*statement.Statement{s}), slices.Concat(at.mustNot, avoid, by.mustNot))
						complete = complete && !cut
						if r != nil {
							objects = append(objects, r.Object(statement.PointAccess))
						}
					}
				}
			}
		}
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(objects, func(o map[string]any) bool {
		key := string(statement.Encode(o))
		known := seen[key]
		seen[key] = true
		return known
	}), complete
}

// avoided returns what requests must not fit: always some statements, and some of further
// lists in each combination.
func avoided(always []*statement.Statement, lists ...[]*statement.Statement) [][]*statement.Statement {
	out := [][]*statement.Statement{always}
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		for _, before := range slices.Clone(out) {
			out = append(out, slices.Concat(before, list))
		}
	}
	return out
}

// override is an escalation for one of its groups: others may be denied what it allows. It is nil for
// none.
type override struct {
	*tables.Escalation
	group string // empty for none
}

// byGroup returns each escalation for each of its groups.
func byGroup(escalations []*tables.Escalation) (out []override) {
	for _, e := range escalations {
		if e == nil || len(e.Groups) == 0 {
			out = append(out, override{Escalation: e})
			continue
		}
		for _, group := range e.Groups {
			out = append(out, override{e, group})
		}
	}
	return out
}

// podRequest looks for a request of a principal, under an escalation unless that is nil.
func (c *comparison) podRequest(p string, e override, must, mustNot []*statement.Statement) (r *statement.Request, cut bool) {
	principals := nonEmpty(p)
	if e.group != "" {
		principals = distinct(p, statement.GroupPrefix+e.group)
	}
	base, _ := requestOf(c.unnamedUser, statement.PointAccess, principals) // at most one user
	find := statement.Search{Must: must, MustNot: mustNot, Point: statement.PointAccess, Base: base}
	find.Pin = func(r *statement.Request) bool {
		if c.o.Namespace != "" {
			r.Namespace = c.o.Namespace
		}
		if e.Escalation != nil {
			r.Escalation = e.Name
		}
		return r.Path == ""
	}
	if e.Escalation != nil {
		find.Must = append(find.Must, statement.OverrideStatement(e.Escalation))
	}
	return find.Find(), find.Cut
}

// recordPod lets both revisions decide a request and records a transition. It reports
// whether there is one.
func (d *side) recordPod(k *class, object map[string]any) bool {
	a, b, err := d.judges.both(d.ctx, statement.PointAccess, object)
	if err != nil || a.Outcome == b.Outcome {
		return false
	}
	k.record(object, a, b)
	return true
}

// listPods adds the smallest pods of one band to those of a class.
func (d *side) listPods(k *class, band []map[string]int, request func(factors map[string]int) map[string]any) {
	var listed []podChange
	for _, factors := range band {
		if slices.ContainsFunc(listed, func(p podChange) bool { return isSmaller(p.Factors, factors) }) {
			continue
		}
		a, b, err := d.judges.both(d.ctx, statement.PointAccess, request(factors))
		if err != nil || a.Outcome == b.Outcome {
			continue // of another policy
		}
		of := slices.DeleteFunc(slices.Clone(k.pods), func(p podChange) bool { return p.From != a.Outcome || p.To != b.Outcome })
		if listed = append(listed, of...); len(of) >= maxPodChanges {
			return
		}
		if !slices.ContainsFunc(of, func(p podChange) bool { return isSmaller(p.Factors, factors) }) {
			found := podChange{Factors: factors, Score: map[string]int{"a": scoreOf(a), "b": scoreOf(b)}, From: a.Outcome, To: b.Outcome}
			k.pods, listed = append(k.pods, found), append(listed, found)
		}
	}
}

// isSmaller reports whether every factor of p is in q at least as often.
func isSmaller(p, q map[string]int) bool {
	for name, n := range p {
		if q[name] < n {
			return false
		}
	}
	return true
}

func scoreOf(v statement.Verdict) int {
	var d struct {
		PodSecurity struct {
			Score int `json:"score"`
		} `json:"podSecurity"`
	}
	if err := json.Unmarshal(v.Decision, &d); err != nil {
		return 0
	}
	return d.PodSecurity.Score
}

// required are statements that a request must fit, and others that it must not.
type required struct{ must, mustNot []*statement.Statement }

// exemptions returns the combinations of namespaces that some pod security exempts: of
// own each one or not, of others none in particular, each one, and all.
func exemptions(own, others []*statement.Statement) []required {
	filters := func(list []*statement.Statement) (out []*statement.Statement) {
		for _, s := range list {
			if f := s.PodSecurity().ExemptNamespaces; f != nil {
				out = append(out, statement.InNamespaces(f))
			}
		}
		return out
	}
	out := []required{{}}
	all := filters(others)
	for i := range all {
		out = append(out, required{must: all[i : i+1]})
	}
	out = append(out, required{must: all})
	for _, f := range filters(own) {
		for _, r := range slices.Clone(out) {
			out = append(out, required{append(slices.Clone(r.must), f), r.mustNot}, required{r.must, append(slices.Clone(r.mustNot), f)})
		}
	}
	return out
}

// maxPods bounds the pods that are constructed for one policy.
const maxPods = 200000

// podsToTry returns pods as sets of the factors of own, in bands whose pods neither own, nor
// others that may deny them too, nor the overrides tell apart, smaller ones first. Every sum
// of weights up to the highest score that is compared with is reached. It returns false if
// pods are missing.
func podsToTry(own, others []*statement.Statement, overrides []*tables.Escalation) (bands [][]map[string]int, complete bool) {
	names := factorsOf(own)
	own = slices.Concat(own, others)
	weights := weightsOf(own)
	scores := scoresOf(own, overrides)
	sums := func(factors map[string]int) []int {
		out := make([]int, len(weights))
		for i := range weights {
			for name, n := range factors {
				out[i] = min(out[i]+n*weights[i][name], scores[len(scores)-1]+1)
			}
		}
		return out
	}
	index := make(map[string]int)
	add := func(factors map[string]int, sums []int, blocked string) {
		for i := range sums {
			at, _ := slices.BinarySearch(scores, sums[i])
			blocked += fmt.Sprint(",", at)
		}
		if _, known := index[blocked]; !known {
			index[blocked] = len(bands)
			bands = append(bands, nil)
		}
		bands[index[blocked]] = append(bands[index[blocked]], factors)
	}
	seen := make(map[string]bool)
	var queue []map[string]int
	visit := func(factors map[string]int) {
		reached, blocked := sums(factors), blockedBy(own, overrides, factors)
		if key := fmt.Sprint(reached, blocked); !seen[key] {
			seen[key] = true
			queue = append(queue, factors)
			add(factors, reached, blocked)
		}
	}
	visit(map[string]int{})
	for i := 0; i < len(queue); i++ {
		if len(queue) > maxPods {
			return bands, false
		}
		for _, name := range names {
			if queue[i][name] > 0 && !statement.IsRepeatable(name) {
				continue
			}
			next := maps.Clone(queue[i])
			next[name]++
			visit(next)
		}
	}
	return bands, true
}

// scoresOf returns the scores that a pod is compared with, sorted; zero is one.
func scoresOf(own []*statement.Statement, overrides []*tables.Escalation) []int {
	out := []int{0}
	for _, s := range own {
		for _, t := range s.PodSecurity().Thresholds {
			out = append(out, t.MaxScore)
		}
	}
	for _, e := range overrides {
		if e.MaxAllowedScore != nil {
			out = append(out, *e.MaxAllowedScore)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// blockedBy says which policies block a pod, without an override and under each.
func blockedBy(own []*statement.Statement, overrides []*tables.Escalation, factors map[string]int) string {
	var out []byte
	for _, s := range own {
		for _, e := range append([]*tables.Escalation{{}}, overrides...) {
			out = append(out, '0'+statement.Bit(slices.ContainsFunc(s.PodSecurity().BlockFactors, func(name string) bool {
				return factors[name] > 0 && !slices.Contains(e.ExemptFactors, name)
			})))
		}
	}
	return string(out)
}

func factorsOf(own []*statement.Statement) (names []string) {
	for _, s := range own {
		for _, f := range s.PodSecurity().Factors {
			names = append(names, f.Name)
		}
	}
	return tables.Entries(names)
}

func weightsOf(list []*statement.Statement) (weights []map[string]int) {
	for _, s := range list {
		weight := make(map[string]int)
		for _, f := range s.PodSecurity().Factors {
			weight[f.Name] = f.Weight
		}
		weights = append(weights, weight)
	}
	return weights
}
