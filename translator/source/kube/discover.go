package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-policy/writ/translator/diag"
)

// resource is a kind that the API server serves.
type resource struct {
	kind
	gvr schema.GroupVersionResource
	// namespace narrows the objects; empty means all.
	namespace string
}

// discovered is what the API server serves of the kinds of a source.
type discovered struct {
	resources []resource
	unserved  []string  // kinds without a resource, as KIND.GROUP, sorted
	list      diag.List // kinds that are enforced and cannot be read
}

// discover asks the API server which kinds it serves. It returns an error if the API server
// cannot be reached or is not ready.
func (s *Source) discover(ctx context.Context) (*discovered, error) {
	// A starting API server does not serve custom resources yet.
	if err := s.client.get(ctx, "/readyz", nil); isUnready(err) {
		return nil, err
	}
	var groups metav1.APIGroupList
	if err := s.client.get(ctx, "/apis", &groups); err != nil {
		return nil, err
	}
	served := make(map[string][]string) // versions of groups
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			served[g.Name] = append(served[g.Name], v.Version)
		}
	}
	find := finder{s.client, make(map[schema.GroupVersion][]metav1.APIResource)}
	d := &discovered{}
	for _, k := range s.kinds {
		if err := s.addKind(ctx, d, find, k, served[k.Group]); err != nil {
			return nil, err
		}
	}
	d.reportNamed(s.kinds)
	slices.Sort(d.unserved)
	return d, nil
}

// addKind adds a kind whose group is served in versions, if it is served at all.
func (s *Source) addKind(ctx context.Context, d *discovered, find finder, k kind, versions []string) error {
	for _, version := range preferred(versions, k.Version) {
		found, err := find.resource(ctx, schema.GroupVersion{Group: k.Group, Version: version}, k.Kind)
		switch {
		case err != nil:
			return err
		case found == nil:
			continue
		case version != k.Version:
			d.list.Add(objectDiagnostic(k,
				fmt.Sprintf("the API server serves %s in version %s and not in %s: its objects are enforced and cannot be read", k.GroupKind(), version, k.Version),
				"update the custom resource definition, or leave the kind out with kinds="))
			return nil
		}
		r := resource{kind: k, gvr: schema.GroupVersionResource{Group: k.Group, Version: version, Resource: found.Name}}
		if found.Namespaced {
			r.namespace = s.o.Location.Namespace
		}
		d.resources = append(d.resources, r)
		return nil
	}
	d.unserved = append(d.unserved, k.GroupKind().String())
	return nil
}

// preferred returns the versions with the wanted one first, if it is served.
func preferred(versions []string, wanted string) []string {
	at := slices.Index(versions, wanted)
	if at < 0 {
		return versions
	}
	return slices.Concat([]string{wanted}, versions[:at], versions[at+1:])
}

// reportNamed reports the kinds that the location names and that are not served. A name that
// several groups have is served if one of them is.
func (d *discovered) reportNamed(kinds []kind) {
	for _, k := range kinds {
		isServed := slices.ContainsFunc(d.resources, func(r resource) bool { return r.Kind == k.Kind }) ||
			slices.ContainsFunc(d.list, func(g diag.Diagnostic) bool { return strings.HasPrefix(g.File, diag.ObjectPrefix+k.label) })
		if k.mustBeServed && !isServed {
			d.list.Add(objectDiagnostic(k,
				fmt.Sprintf("the API server does not serve %s, which kinds= names", k.GroupKind()),
				"install its custom resource definition, or leave the kind out of kinds="))
		}
	}
}

// objectDiagnostic is an error about a kind.
func objectDiagnostic(k kind, message, hint string) diag.Diagnostic {
	at := diag.Position{File: diag.ObjectPrefix + k.label, Line: 1, Column: 1, Field: diag.WholeObject}
	return diag.Diagnostic{Position: at, Code: diag.UnknownKind, Message: message, Hint: hint}
}

// finder finds resources. It reads each group and version once.
type finder struct {
	client *client
	read   map[schema.GroupVersion][]metav1.APIResource
}

// resource returns the resource of a kind in one version, or nil. A version that disappears
// while it is read is not served.
func (f finder) resource(ctx context.Context, version schema.GroupVersion, kind string) (*metav1.APIResource, error) {
	resources, ok := f.read[version]
	if !ok {
		var list metav1.APIResourceList
		if err := f.client.get(ctx, "/apis/"+version.String(), &list); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		resources = list.APIResources
		f.read[version] = resources
	}
	for i, r := range resources {
		if r.Kind == kind && !strings.Contains(r.Name, "/") {
			return &resources[i], nil
		}
	}
	return nil, nil
}
