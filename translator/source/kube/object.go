package kube

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

// serverFields are what servers and controllers fill in, and not policy.
var serverFields = []string{"status"}

// file returns an object as a file of a snapshot: JSON with sorted keys. It returns an
// error if the object has no name.
func (r resource) file(object *unstructured.Unstructured) (source.File, error) {
	if object.GetName() == "" {
		return source.File{}, fmt.Errorf("an object of kind %s has no name", r.Kind)
	}
	content, err := json.Marshal(prune(object.Object))
	if err != nil {
		return source.File{}, fmt.Errorf("%s: %w", r.path(object), err)
	}
	return source.File{Path: r.path(object), Content: content, Hash: sha256.Sum256(content), Object: true}, nil
}

// prune returns an object without what is not policy.
func prune(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, value := range object {
		out[key] = value
	}
	for _, key := range serverFields {
		delete(out, key)
	}
	if all, ok := object["metadata"].(map[string]any); ok {
		metadata := make(map[string]any, len(policyMetadata))
		for _, key := range policyMetadata {
			if value, found := all[key]; found {
				metadata[key] = value
			}
		}
		if annotations := policyAnnotations(all["annotations"]); len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		out["metadata"] = metadata
	}
	return out
}

// policyAnnotations returns the annotations that are policy.
func policyAnnotations(all any) map[string]any {
	annotations, _ := all.(map[string]any)
	out := make(map[string]any)
	for key, value := range annotations {
		if strings.HasPrefix(key, annotationPrefix) {
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
	if !source.IsPrintable(path) {
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
