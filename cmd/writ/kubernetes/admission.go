package kubernetes

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/internal/elements"
)

// Admission is what an API server checks at admission: the companion of documents, and the
// guard of documents and of the companion itself. Either may be nil.
type Admission struct {
	Companion *companion.Companion
	Guard     *Guard
	// Static prints files that an API server of 1.37 reads from its own disk, where Folder is
	// their folder.
	Static bool
	Folder string
}

const (
	admissionVersion = "admissionregistration.k8s.io/v1"
	managedBy        = "app.kubernetes.io/managed-by"
	staticPolicies   = "policies"
)

// Object is an object of admissionregistration.k8s.io/v1.
type Object struct {
	APIVersion string   `json:"apiVersion" yaml:"apiVersion"`
	Kind       string   `json:"kind" yaml:"kind"`
	Metadata   Metadata `json:"metadata" yaml:"metadata"`
	Spec       any      `json:"spec" yaml:"spec"`
}

// Metadata is that of an Object.
type Metadata struct {
	Name        string            `json:"name" yaml:"name"`
	Labels      map[string]string `json:"labels" yaml:"labels"`
	Annotations map[string]string `json:"annotations,omitempty" yaml:"annotations,omitempty"`
}

type bindingSpec struct {
	PolicyName        string   `json:"policyName" yaml:"policyName"`
	ValidationActions []string `json:"validationActions" yaml:"validationActions,flow"`
}

// Objects returns each policy with its binding.
func (a *Admission) Objects() (out [][]Object) {
	if a.Companion != nil {
		out = append(out, elements.Map(a.Companion.Slices, a.bound)...)
	}
	if a.Guard != nil {
		out = append(out, a.bound(a.Guard.policy()))
	}
	return out
}

func (a *Admission) bound(s companion.Slice) []Object {
	name := s.Name
	if a.Static {
		name += companion.StaticSuffix
	}
	metadata := Metadata{Name: name, Labels: map[string]string{managedBy: "writ"}}
	binding := metadata
	metadata.Annotations = s.Annotations
	return []Object{
		{admissionVersion, "ValidatingAdmissionPolicy", metadata, s.Policy},
		{admissionVersion, "ValidatingAdmissionPolicyBinding", binding, bindingSpec{name, []string{"Deny"}}},
	}
}

// Files returns a file for each policy and, of static ones, the file for kube-apiserver
// --admission-control-config-file.
func (a *Admission) Files() ([]File, error) {
	var files []File
	for _, objects := range a.Objects() {
		name := objects[0].Metadata.Name
		var out bytes.Buffer
		out.WriteString(a.header(name))
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		for _, object := range objects {
			if err := encoder.Encode(object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := encoder.Close(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		file := name + ".yaml"
		if a.Static {
			file = staticPolicies + "/" + file
		}
		files = append(files, File{file, out.Bytes()})
	}
	if a.Static {
		files = append(files, File{"admission.yaml", fmt.Appendf(nil, admissionConfiguration, strings.TrimRight(a.Folder, "/")+"/"+staticPolicies)})
	}
	return files, nil
}

const admissionConfiguration = `# For kube-apiserver --admission-control-config-file, 1.37 or later. Every API server reads its
# own files: they must be the same everywhere.
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionPolicy
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ValidatingAdmissionPolicyConfiguration
    staticManifestsDir: %q
`

const companionHeader = `# The companion of writ: what admission checks of writes, because no authorizer sees the object.
# writ kubernetes admission prints it from the policy documents; do not edit it.
#
# It is stricter than the documents in three cases: RBAC would allow a write that a conditional
# rule of writ could allow, and does not allow for this object; mutating admission changed a
# field, which counts as a change of the user; and an expression failed, at its cost limit or
# at an object without metadata.
`

const allDenialsHeader = `# It does not guard reads, exec and impersonation: admission is not asked about them.
`

const guardHeader = `# The guard of policy documents and of the companion: only the writers may change them.
`

const removableHeader = `# A user who may delete this binding or its policy is past the guard: admission does not check
# admission policies of the API. Files of --static cannot be changed by the API. A mistake is
# mended by deleting the binding.
`

const staticHeader = `# An API server reads this file from its disk. A mistake is mended in the file, on each machine.
`

// header is the comment of a file.
func (a *Admission) header(name string) string {
	isGuard := strings.HasPrefix(name, guardName)
	var out string
	switch {
	case isGuard:
		out = guardHeader
	case a.Companion.AllDenials:
		out = allDenialsHeader + companionHeader
	default:
		out = companionHeader
	}
	switch {
	case a.Static:
		out += staticHeader
	case isGuard:
		out += removableHeader
	}
	return out
}
