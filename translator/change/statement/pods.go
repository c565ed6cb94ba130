package statement

import (
	"fmt"
	"maps"
	"slices"
)

const (
	capabilityFactor = "capability:"
	writableFactor   = "hostPathWritable"
	readOnlyFactor   = "hostPathReadOnly"
)

// IsRepeatable reports whether a risk factor counts more than once.
func IsRepeatable(name string) bool {
	return name == writableFactor || name == readOnlyFactor || len(name) > len(capabilityFactor) && name[:len(capabilityFactor)] == capabilityFactor
}

// PodOf returns a pod with risk factors, each as often as its number, and with labels.
func PodOf(factors map[string]int, labels map[string]string) map[string]any {
	first := map[string]any{"name": "c"}
	containers := []any{first}
	spec := map[string]any{}
	var volumes, mounts []any
	for _, name := range slices.Sorted(maps.Keys(factors)) {
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
			case IsRepeatable(name):
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
	pod := map[string]any{"spec": spec}
	if len(labels) > 0 {
		pod["metadata"] = map[string]any{"labels": labels}
	}
	return pod
}

// podsOf returns pods that pod security tells apart: without a risk factor, with each one, with
// all, and with each set of labels that it exempts.
func podsOf(w *World) []map[string]any {
	all := make(map[string]int)
	for _, s := range w.Deny {
		if p, ok := s.Condition.(*podRule); ok {
			for _, f := range p.p.Factors {
				all[f.Name] = 1
			}
		}
	}
	out := []map[string]any{PodOf(nil, nil), PodOf(all, nil)}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, PodOf(map[string]int{name: 1}, nil))
	}
	for _, labels := range w.ExemptLabels() {
		out = append(out, PodOf(nil, labels))
	}
	return out
}
