package kube

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// policyMetadata are the fields of metadata that documents can mean something by.
// creationTimestamp is the API server's, and orders routes and policies.
var policyMetadata = []string{"name", "namespace", "labels", "creationTimestamp"}

// annotationPrefix begins the annotations that documents can mean something by.
const annotationPrefix = "writ.dev/"

// breakglass is the group of kinds whose controller decides by their status: sessions are
// approved and end there, and an escalation is ready.
const breakglass = "breakglass.t-caas.telekom.com/"

// breakglassMetadata are the fields of metadata of that group which lead from a session to
// its escalation.
var breakglassMetadata = []string{"ownerReferences", "uid"}

// file returns an object as a file of a snapshot: JSON with sorted keys. It returns an
// error if the object has no name. Some annotations are kept beside those that are policy.
func (r resource) file(object *unstructured.Unstructured, annotations ...string) (source.File, error) {
	if object.GetName() == "" {
		return source.File{}, fmt.Errorf("an object of kind %s has no name", r.Kind)
	}
	content, err := json.Marshal(prune(object.Object, annotations...))
	if err != nil {
		return source.File{}, fmt.Errorf("%s: %w", r.path(object), err)
	}
	return source.File{Path: r.path(object), Content: source.TextOf(content), Hash: sha256.Sum256(content), Object: true}, nil
}

// prune returns an object without what is not policy. Some annotations are kept besides.
func prune(object map[string]any, more ...string) map[string]any {
	out := make(map[string]any, len(object))
	maps.Copy(out, object)
	kept := policyMetadata
	switch version, _ := object["apiVersion"].(string); {
	case !strings.HasPrefix(version, breakglass):
		delete(out, "status")
	case isSession(object["kind"]):
		out["status"] = without(object["status"], "conditions")
		kept = slices.Concat(kept, breakglassMetadata)
	case object["kind"] == "BreakglassEscalation":
		out["status"] = readiness(object["status"])
		kept = slices.Concat(kept, breakglassMetadata)
	default:
		delete(out, "status")
	}
	if out["status"] == nil {
		delete(out, "status")
	}
	if all, ok := object["metadata"].(map[string]any); ok {
		metadata := make(map[string]any, len(kept))
		for _, key := range kept {
			if value, found := all[key]; found {
				metadata[key] = value
			}
		}
		if annotations := policyAnnotations(all["annotations"], more); len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		out["metadata"] = metadata
	}
	return out
}

// isSession reports whether a kind of that group is one of sessions.
func isSession(kind any) bool { return kind == "BreakglassSession" || kind == "DebugSession" }

// hasSessionsAlone reports whether a source reads no kind but those of sessions.
func hasSessionsAlone(kinds []kind) bool {
	return !slices.ContainsFunc(kinds, func(k kind) bool { return k.Group+"/" != breakglass || !isSession(k.Kind) })
}

// without returns an object without a field, nil for anything else.
func without(value any, field string) any {
	all, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	out := maps.Clone(all)
	delete(out, field)
	return out
}

// readiness returns of a status whether the object is ready, without the times at which
// controllers have looked. It is nil for a status that does not state it.
func readiness(status any) any {
	all, _ := status.(map[string]any)
	conditions, _ := all["conditions"].([]any)
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == "Ready" {
			return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": condition["status"]}}}
		}
	}
	return nil
}

// policyAnnotations returns the annotations that are policy, and those of some names.
func policyAnnotations(all any, names []string) map[string]any {
	annotations, _ := all.(map[string]any)
	out := make(map[string]any)
	for key, value := range annotations {
		if strings.HasPrefix(key, annotationPrefix) || slices.Contains(names, key) {
			out[key] = value
		}
	}
	return out
}

// path returns the path of an object: kube:KIND/NAMESPACE/NAME. Names of RBAC objects may
// have any character but a slash.
func (r resource) path(object *unstructured.Unstructured) string {
	path := diag.ObjectPrefix + r.label + "/"
	if namespace := object.GetNamespace(); namespace != "" {
		path += namespace + "/"
	}
	path += object.GetName()
	// A name with a backslash is quoted too: it must not be that of another one with an escape.
	if !source.IsPrintable(path) || strings.Contains(path, `\`) {
		path = strings.Trim(strconv.QuoteToASCII(path), `"`)
	}
	return path
}

// transform removes from an object what is not policy, so that a list of all objects takes
// less memory. Objects of other types are returned as they are.
func transform(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		version := u.GetResourceVersion() // which the reflector continues from
		u.Object = prune(u.Object)
		u.SetResourceVersion(version)
		return u, nil
	}
	return object, nil
}

var errNotObject = errors.New("the API server returned something else than an object")
