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

// maxPodChanges is how many smallest pods a class lists.
const maxPodChanges = 20

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
		if complete := c.tryPods(k, own, sideB); !complete {
			k.why, k.changes = append(k.why, whyPattern), changeKinds[:4]
		}
		if len(k.transitions) > 0 || len(k.why) > 1 {
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
// it. It returns false if a request may exist that it did not try.
func (c *comparison) tryPods(k *class, own []*statement, d *side) bool {
	objects, complete := c.podRequests(own, d)
	pods, all := podsToTry(own, slices.Concat(c.a.World.escalations(), c.b.World.escalations()))
	labels := []map[string]string{nil}
	merged := make(map[string]string)
	for _, l := range slices.Concat(c.a.World.exemptLabels(), c.b.World.exemptLabels()) {
		labels = append(labels, l)
		maps.Copy(merged, l)
	}
	labels = append(labels, merged)
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

func withPod(object map[string]any, factors map[string]int, labels map[string]string) map[string]any {
	pod := podOf(factors)
	if len(labels) > 0 {
		pod["metadata"] = map[string]any{"labels": labels}
	}
	return with(object, "pod", pod)
}

// podRequests returns requests for pods that no other statement denies, one for each
// combination of what exempts and of what an escalation overrides.
func (c *comparison) podRequests(own []*statement, d *side) (objects []map[string]any, complete bool) {
	complete = true
	everyone := slices.Concat(d.x.everyone, d.y.everyone)
	denials := exactOf(everyone)
	others := slices.DeleteFunc(opaqueOf(everyone), func(t *statement) bool {
		return slices.ContainsFunc(own, func(s *statement) bool { return t.documents[0].Name == s.documents[0].Name })
	})
	contexts := exemptions(own, others)
	escalations := slices.Concat([]*tables.Escalation{nil}, c.a.World.escalations(), c.b.World.escalations())
	for _, s := range own {
		for _, by := range d.askers(s, denials, &group{principals: []string{""}}) {
			for _, at := range contexts {
				for _, e := range escalations {
					for _, avoid := range [][]*statement{denials, slices.Concat(denials, others)} {
						r, cut := c.podRequest(by.principal, e, slices.Concat(at.must, by.must, []*statement{s}), slices.Concat(at.mustNot, avoid))
						complete = complete && !cut
						if r != nil {
							objects = append(objects, r.object(PointAccess))
						}
					}
				}
			}
		}
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(objects, func(o map[string]any) bool {
		key := string(encode(o))
		known := seen[key]
		seen[key] = true
		return known
	}), complete
}

// podRequest looks for a request of a principal, under an escalation unless it is nil.
func (c *comparison) podRequest(p string, e *tables.Escalation, must, mustNot []*statement) (r *request, cut bool) {
	base, _ := requestOf(PointAccess, nonEmpty(p)) // one principal
	find := search{must: must, mustNot: mustNot, point: PointAccess, base: base}
	find.pin = func(r *request) bool {
		if c.o.Namespace != "" {
			r.namespace = c.o.Namespace
		}
		if e != nil {
			r.escalation = e.Name
		}
		return r.path == ""
	}
	if e != nil {
		find.must = append(find.must, overrideStatement(e))
		find.base.groups = append(find.base.groups, e.Groups[:min(len(e.Groups), 1)]...)
	}
	return find.find(), find.cut
}

// recordPod lets both revisions decide a request and records a transition. It reports
// whether there is one.
func (d *side) recordPod(k *class, object map[string]any) bool {
	a, b, err := d.judges.both(d.ctx, PointAccess, object)
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
		a, b, err := d.judges.both(d.ctx, PointAccess, request(factors))
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
