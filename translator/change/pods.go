package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// podChange is a PodChange of a class.
type podChange PodChange

// maxPodChanges is how many smallest pods a class lists, maxPods how many are tried.
const (
	maxPodChanges = 20
	maxPods       = 1500
)

// pods compares pod security. Each policy whose pod security differs gives a class, if a
// pod is found that the revisions decide differently.
func (c *comparison) pods(a, b *space) error {
	sideA, sideB := c.side(a, b, "a", "b", PointAccess, outcomeNone), c.side(b, a, "b", "a", PointAccess, outcomeNone)
	onlyA, onlyB := podsOf(sideA), podsOf(sideB)
	names := tables.Entries(slices.Concat(slices.Collect(maps.Keys(onlyA)), slices.Collect(maps.Keys(onlyB))))
	for _, name := range names {
		k := &class{point: PointAccess, why: []string{whyPod}, all: [][]*member{{}}}
		var own []*statement
		if s := onlyB[name]; s != nil {
			k.all[0] = append(k.all[0], sideB.own(s))
			own = append(own, s)
		}
		if s := onlyA[name]; s != nil {
			k.all[0] = append(k.all[0], sideA.own(s))
			own = append(own, s)
		}
		c.tryPods(k, own, sideB)
		if len(k.transitions) > 0 {
			if err := c.add(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// podsOf returns the pod security of x that y lacks, by policy.
func podsOf(d *side) map[string]*statement {
	out := make(map[string]*statement)
	for _, s := range d.x.everyone {
		if s.opaque == whyPod && !slices.ContainsFunc(d.y.everyone, func(t *statement) bool { return contentOf(t) == contentOf(s) }) {
			out[s.documents[0].Name] = s
		}
	}
	return out
}

// tryPods lets both revisions decide requests that differ in the pod and in what exempts
// it.
func (c *comparison) tryPods(k *class, own []*statement, d *side) {
	var objects []map[string]any
	for _, s := range own {
		g := &group{principals: []string{""}, against: new(relevant)}
		denials := exactOf(slices.Concat(d.x.everyone, d.y.everyone))
		for _, p := range d.askers(s, g) {
			for _, pin := range podContexts(own) {
				find := search{must: []*statement{s}, mustNot: denials, point: PointAccess, base: (&Question{}).base(nonEmpty(p)), pin: pin}
				if c.o.Namespace != "" {
					find.pin = func(r *request) bool { r.namespace = c.o.Namespace; return pin(r) && r.namespace == c.o.Namespace }
				}
				if r := find.find(); r != nil {
					objects = append(objects, r.object(PointAccess))
				}
			}
			if escalated := c.escalated(s, p, denials); escalated != nil {
				objects = append(objects, escalated)
			}
		}
	}
	pods := podsToTry(own)
	for _, object := range objects {
		d.recordPod(k, object, nil)
		for _, factors := range pods {
			d.recordPod(k, with(object, "pod", podOf(factors)), factors)
		}
	}
	for _, labels := range slices.Concat(c.a.World.exemptLabels(), c.b.World.exemptLabels()) {
		for _, factors := range pods {
			pod := podOf(factors)
			pod["metadata"] = map[string]any{"labels": labels}
			for _, object := range objects {
				d.recordPod(k, with(object, "pod", pod), factors)
			}
		}
	}
}

// podContexts are conditions on the request: any namespace, and those that exemptions tell
// apart.
func podContexts(own []*statement) []func(*request) bool {
	out := []func(*request) bool{func(r *request) bool { return true }}
	for _, s := range own {
		filter := s.condition.(*podRule).p.ExemptNamespaces
		if filter == nil {
			continue
		}
		var v values
		v.addFilter(filter)
		v.namespaces.add(otherWord)
		for _, namespace := range v.namespaces.all() {
			for _, labels := range v.namespaceLabels.sets() {
				out = append(out, func(r *request) bool {
					r.namespace, r.namespaceLabels = namespace, labels
					return r.path == ""
				})
			}
		}
	}
	return out
}

// escalated returns a request under an override, or nil.
func (c *comparison) escalated(s *statement, p string, denials []*statement) map[string]any {
	for _, w := range []*World{c.b.World, c.a.World} {
		deny := tables.Of[*tables.Deny](w.revision.Tables)
		if deny == nil {
			continue
		}
		for i := range deny.Escalations {
			e := &deny.Escalations[i]
			var v values
			v.clusters.addGlobs(e.Clusters)
			v.clusters.add(otherWord)
			for _, cluster := range v.clusters.all() {
				if !matchGlobs(e.Clusters, cluster) {
					continue
				}
				find := search{must: []*statement{s}, mustNot: denials, point: PointAccess, base: (&Question{}).base(nonEmpty(p)),
					pin: func(r *request) bool { r.escalation, r.cluster = e.Name, cluster; return true }}
				find.base.groups = append(find.base.groups, e.Groups[0])
				if r := find.find(); r != nil {
					return r.object(PointAccess)
				}
			}
		}
	}
	return nil
}

// recordPod lets both revisions decide a request and records a transition and its pod.
func (d *side) recordPod(k *class, object map[string]any, factors map[string]int) {
	a, b, err := d.judges.both(d.ctx, PointAccess, object)
	if err != nil || a.Outcome == b.Outcome {
		return
	}
	k.record(object, a, b)
	listed := 0
	for _, p := range k.pods {
		if p.From == a.Outcome && p.To == b.Outcome {
			if isSmaller(p.Factors, factors) {
				return
			}
			listed++
		}
	}
	if factors != nil && listed < maxPodChanges {
		k.pods = append(k.pods, podChange{Factors: factors, Score: map[string]int{"a": scoreOf(a), "b": scoreOf(b)}, From: a.Outcome, To: b.Outcome})
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

func scoreOf(v Verdict) int {
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

// podsToTry returns sets of factors, smaller ones first, until every sum of weights up to
// the highest threshold has been reached in each combination of blocking factors.
func podsToTry(own []*statement) []map[string]int {
	names, weights, highest, blocking := factorsOf(own)
	type state struct {
		scores string
		blocks string
	}
	stateOf := func(factors map[string]int) state {
		sums := make([]int, len(weights))
		blocks := ""
		for _, name := range names {
			for i := range weights {
				sums[i] = min(sums[i]+factors[name]*weights[i][name], highest+1)
			}
			if factors[name] > 0 && blocking[name] {
				blocks += name + ","
			}
		}
		return state{fmt.Sprint(sums), blocks}
	}
	seen := map[state]bool{stateOf(nil): true}
	out := []map[string]int{{}}
	for i := 0; i < len(out) && len(out) < maxPods; i++ {
		for _, name := range names {
			if out[i][name] > 0 && !isRepeatable(name) {
				continue
			}
			next := maps.Clone(out[i])
			next[name]++
			if s := stateOf(next); !seen[s] {
				seen[s] = true
				out = append(out, next)
			}
		}
	}
	return out
}

func factorsOf(own []*statement) (names []string, weights []map[string]int, highest int, blocking map[string]bool) {
	blocking = make(map[string]bool)
	for _, s := range own {
		p := s.condition.(*podRule).p
		weight := make(map[string]int)
		for _, f := range p.Factors {
			names = append(names, f.Name)
			weight[f.Name] = f.Weight
		}
		for _, name := range p.BlockFactors {
			blocking[name] = true
		}
		for _, t := range p.Thresholds {
			highest = max(highest, t.MaxScore)
		}
		weights = append(weights, weight)
	}
	return tables.Entries(names), weights, highest, blocking
}

const (
	capabilityFactor = "capability:"
	writableFactor   = "hostPathWritable"
	readOnlyFactor   = "hostPathReadOnly"
)

// isRepeatable reports whether a factor counts more than once.
func isRepeatable(name string) bool {
	return name == writableFactor || name == readOnlyFactor || len(name) > len(capabilityFactor) && name[:len(capabilityFactor)] == capabilityFactor
}

// podOf returns a pod with risk factors.
func podOf(factors map[string]int) map[string]any {
	first := map[string]any{"name": "c"}
	containers := []any{first}
	spec := map[string]any{}
	var volumes, mounts []any
	for _, name := range sortedKeys(factors) {
		for n := range factors[name] {
			switch {
			case name == writableFactor || name == readOnlyFactor:
				volume := fmt.Sprintf("%s-%d", map[string]string{writableFactor: "rw", readOnlyFactor: "ro"}[name], n)
				volumes = append(volumes, map[string]any{"name": volume, "hostPath": map[string]any{"path": "/"}})
				mounts = append(mounts, map[string]any{"name": volume, "mountPath": "/" + volume, "readOnly": name == readOnlyFactor})
			case name == "privilegedContainer":
				containers = append(containers, map[string]any{"name": "p", "securityContext": map[string]any{"privileged": true}})
			case name == "runAsRoot":
				spec["securityContext"] = map[string]any{"runAsUser": 0}
			case isRepeatable(name):
				capability := name[len(capabilityFactor):]
				containers = append(containers, map[string]any{"name": fmt.Sprintf("c-%s-%d", capability, n),
					"securityContext": map[string]any{"capabilities": map[string]any{"add": []string{capability}}}})
			default:
				spec[name] = true
			}
		}
	}
	if volumes != nil {
		spec["volumes"], first["volumeMounts"] = volumes, mounts
	}
	spec["containers"] = containers
	return map[string]any{"spec": spec}
}
