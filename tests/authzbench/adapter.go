package main

import (
	"context"
	"errors"

	"sigs.k8s.io/yaml"
)

// errNotOffered is the error of a question that a system does not offer to answer.
var errNotOffered = errors.New("not offered")

// about is what the tables say of a system, as models/systems.yaml states it.
type about struct{ Name, Module, Version, Asked, Changed, Configured, Fresh string }

// described is what is said of a system, with the version that is linked into a program, or into
// this one if it is empty.
func described(key, program string) about {
	var all map[string]about
	text, err := models.ReadFile("models/systems.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(text, &all)
	}
	if err != nil {
		panic(err) // a file of this folder
	}
	a := all[key]
	if a.Version == "" {
		a.Version = linkedVersion(program, a.Module)
	}
	return a
}

// adapter is a system with the facts of a world. Its methods are not called concurrently.
type adapter interface {
	// about needs no start.
	about() about
	// start makes the system ready to answer by the facts of w, with files in dir. It is given
	// up when ctx ends.
	start(ctx context.Context, w *world, dir string) error
	decide(q *question) (bool, error)
	// who are the users that may do what is asked, and namespaces where the user may. The order
	// does not matter. The error is errNotOffered if the system has no such question.
	who(q *question) ([]string, error)
	namespaces(q *question) ([]string, error)
	// change saves a binding, or takes it back. The system may follow later.
	change(b *binding, bound bool) error
	// raw decides a question after edit has changed the bytes of its body. Systems without a
	// protocol return errNotOffered.
	raw(q *question, edit func(body []byte) []byte) (bool, error)
	// process is the identifier of the system's process, or 0 for the process of the caller.
	process() int
	// close ends the system, started or not.
	close()
}

// library is what systems in process have in common.
type library struct{}

func (library) who(*question) ([]string, error)                  { return nil, errNotOffered }
func (library) namespaces(*question) ([]string, error)           { return nil, errNotOffered }
func (library) raw(*question, func([]byte) []byte) (bool, error) { return false, errNotOffered }
func (library) process() int                                     { return 0 }
func (library) close()                                           {}

// systems are what is measured, given the folder of the programs and the folder of workloads.
func systems(bin string) []func() adapter {
	return []func() adapter{
		func() adapter { return &floor{} },
		func() adapter { return newFloorServer() },
		func() adapter { return &writLibrary{} },
		func() adapter { return newWrit(bin) },
		func() adapter { return &kubernetes{} },
		func() adapter { return &cedarGo{} },
		func() adapter { return newOPA(bin) },
		func() adapter { return newCerbos(bin) },
		func() adapter { return newOpenFGA(bin) },
		func() adapter { return newSpiceDB(bin) },
	}
}
