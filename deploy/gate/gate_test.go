// Package gate tests the files of the gate before a sync.
package gate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator"
)

type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Annotations     map[string]string
	}
	Rules []struct {
		APIGroups []string `yaml:"apiGroups"`
		Verbs     []string
	}
	Spec struct {
		BackoffLimit          *int `yaml:"backoffLimit"`
		ActiveDeadlineSeconds int  `yaml:"activeDeadlineSeconds"`
		Template              struct {
			Spec struct {
				RestartPolicy      string `yaml:"restartPolicy"`
				ServiceAccountName string `yaml:"serviceAccountName"`
				Containers         []struct {
					Args    []string
					Command []string
					Mounts  []struct{ Name, MountPath string } `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
		DependsOn []struct{ Name string } `yaml:"dependsOn"`
		Wait      bool
		Force     bool
		PostBuild struct {
			SubstituteFrom []struct{ Name string } `yaml:"substituteFrom"`
		} `yaml:"postBuild"`
	}
}

func read(t *testing.T, name string) (out []object) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, o)
	}
}

// The gate reads each kind that writ reads, once, and may do nothing else.
func TestIdentityListsWhatWritReads(t *testing.T) {
	groups := make(map[string]bool)
	for _, o := range read(t, "identity.yaml") {
		for _, r := range o.Rules {
			if !slices.Equal(r.Verbs, []string{"list"}) {
				t.Errorf("%v: got verbs %v", r.APIGroups, r.Verbs)
			}
			for _, g := range r.APIGroups {
				groups[g] = true
			}
		}
	}
	for _, k := range translator.ServedKinds() {
		if group, _, _ := strings.Cut(k.APIVersion, "/"); !groups[group] {
			t.Errorf("%s of %s cannot be read", k.Name, k.APIVersion)
		}
	}
}

func TestJobs(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "job.yaml" {
			return err
		}
		found++
		job := read(t, path)[0]
		pod := job.Spec.Template.Spec
		if job.Kind != "Job" || job.Spec.BackoffLimit == nil || *job.Spec.BackoffLimit != 0 || job.Spec.ActiveDeadlineSeconds != 300 || pod.RestartPolicy != "Never" ||
			pod.ServiceAccountName != "writ-gate" || job.Metadata.Namespace != "writ-gate" || len(pod.Containers) != 1 || pod.Containers[0].Command != nil {
			t.Errorf("%s: got %+v", path, job)
		}
		args := strings.Join(pod.Containers[0].Args, " ")
		for _, want := range []string{"diff --apply kube:in-cluster ", " --fail-on gain ", " --expect /gate/expect.yaml ", " --summary /dev/termination-log"} {
			if !strings.Contains(args, want) {
				t.Errorf("%s: %q is not in %s", path, want, args)
			}
		}
		for _, m := range pod.Containers[0].Mounts {
			if !slices.ContainsFunc(pod.Volumes, func(v struct{ Name string }) bool { return v.Name == m.Name }) {
				t.Errorf("%s: no volume %s", path, m.Name)
			}
		}
		if strings.HasPrefix(path, "argocd") {
			a := job.Metadata.Annotations
			if a["argocd.argoproj.io/hook"] != "PreSync" || a["argocd.argoproj.io/hook-delete-policy"] != "BeforeHookCreation" || a["argocd.argoproj.io/sync-wave"] != "-5" {
				t.Errorf("%s: got %v", path, a)
			}
		}
		return nil
	})
	if err != nil || found != 3 {
		t.Errorf("got %d jobs, %v", found, err)
	}
}

func TestFluxAppliesAfterTheGate(t *testing.T) {
	byName := make(map[string]object)
	for _, o := range read(t, "flux/flux.yaml") {
		if o.Kind == "Kustomization" {
			byName[o.Metadata.Name] = o
		}
	}
	gate, policies := byName["policies-gate"].Spec, byName["policies"].Spec
	if !gate.Wait || !gate.Force || len(gate.PostBuild.SubstituteFrom) != 1 || len(policies.DependsOn) != 1 || policies.DependsOn[0].Name != "policies-gate" {
		t.Errorf("got %+v and %+v", gate, policies)
	}
}
