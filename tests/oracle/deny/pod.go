package deny

import (
	"math"

	"github.com/writ-policy/writ/tests/oracle"
)

// podFacts is what the risk factors need of a pod.
type podFacts struct {
	hostNetwork, hostPID, hostIPC bool
	privileged, root              bool
	// adds are the capabilities, one list a container.
	adds [][]string
	// writable and readOnly count the hostPath volumes.
	writable, readOnly int
}

// Available reads the pod of a request, and says whether there is one to judge:
// it was fetched, it is the one that was asked for, it has a container, and
// every part that is read has the type it should.
func Available(r oracle.Request) (podFacts, bool) {
	if r.PodError != "" || r.Pod == nil {
		return podFacts{}, false
	}
	in := &reader{}
	metadata := in.object(r.Pod, "metadata")
	namespace, _ := in.text(metadata, "namespace")
	name, _ := in.text(metadata, "name")
	if namespace != "" && namespace != r.Namespace || name != "" && r.Name != "" && name != r.Name {
		return podFacts{}, false
	}
	spec := in.object(r.Pod, "spec")
	facts := in.facts(spec)
	return facts, !in.broken && len(in.list(spec, "containers")) > 0
}

// reader reads parts of a pod. What is missing or null is empty; a part of
// another type makes the whole pod one that cannot be read, since a guess could
// only make it look safer.
type reader struct{ broken bool }

func (in *reader) facts(spec map[string]any) podFacts {
	facts := podFacts{
		hostNetwork: in.flag(spec, "hostNetwork"), hostPID: in.flag(spec, "hostPID"), hostIPC: in.flag(spec, "hostIPC"),
	}
	podUser := in.integer(in.object(spec, "securityContext"), "runAsUser")
	writable := map[string]bool{}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, container := range in.objects(spec, list) {
			in.container(container, podUser, &facts)
			for _, mount := range in.objects(container, "volumeMounts") {
				name := in.name(mount)
				if !in.flag(mount, "readOnly") {
					writable[name] = true
				}
			}
		}
	}
	for _, volume := range in.objects(spec, "volumes") {
		name := in.name(volume)
		switch {
		case in.object(volume, "hostPath") == nil:
		case writable[name]:
			facts.writable++
		default:
			facts.readOnly++
		}
	}
	return facts
}

func (in *reader) container(container map[string]any, podUser *float64, facts *podFacts) {
	security := in.object(container, "securityContext")
	if in.flag(security, "privileged") {
		facts.privileged = true
	}
	user := in.integer(security, "runAsUser")
	if user == nil {
		user = podUser
	}
	if user != nil && *user == 0 {
		facts.root = true
	}
	var adds []string
	for _, item := range in.list(in.object(security, "capabilities"), "add") {
		name, ok := item.(string)
		if !ok {
			in.broken = true
		}
		adds = append(adds, capability(name))
	}
	facts.adds = append(facts.adds, adds)
}

func (in *reader) object(from map[string]any, key string) map[string]any {
	value, ok := from[key].(map[string]any)
	in.broken = in.broken || !ok && from[key] != nil
	return value
}

func (in *reader) list(from map[string]any, key string) []any {
	value, ok := from[key].([]any)
	in.broken = in.broken || !ok && from[key] != nil
	return value
}

// objects is a list of objects. A null among them is an error.
func (in *reader) objects(from map[string]any, key string) []map[string]any {
	var all []map[string]any
	for _, item := range in.list(from, key) {
		value, ok := item.(map[string]any)
		in.broken = in.broken || !ok
		all = append(all, value)
	}
	return all
}

func (in *reader) flag(from map[string]any, key string) bool {
	value, ok := from[key].(bool)
	in.broken = in.broken || !ok && from[key] != nil
	return value
}

func (in *reader) text(from map[string]any, key string) (string, bool) {
	value, ok := from[key].(string)
	in.broken = in.broken || !ok && from[key] != nil
	return value, ok
}

// name is the name that joins a mount with its volume. It must be there: leaving
// it out would make a writable mount look like none.
func (in *reader) name(from map[string]any) string {
	name, ok := in.text(from, "name")
	in.broken = in.broken || !ok
	return name
}

// integer is a whole number however it is written; nil if it is missing.
func (in *reader) integer(from map[string]any, key string) *float64 {
	var value float64
	switch v := from[key].(type) {
	case nil:
		return nil
	case int:
		value = float64(v)
	case float64:
		value = v
	default:
		in.broken = true
	}
	in.broken = in.broken || value != math.Trunc(value)
	return &value
}
