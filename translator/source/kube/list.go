package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// list lists each kind once.
func (s *Source) list(ctx context.Context) (source.Snapshot, diag.List, error) {
	d, err := s.discover(ctx)
	if err != nil {
		return source.Snapshot{}, nil, causeOf(ctx, err)
	}
	objects := make([][]source.File, len(d.resources))
	errs := make([]error, len(d.resources))
	var group sync.WaitGroup
	for i, r := range d.resources {
		group.Go(func() { objects[i], errs[i] = s.listKind(ctx, r) })
	}
	group.Wait()
	if err := join(errs); err != nil {
		return source.Snapshot{}, nil, causeOf(ctx, err)
	}
	return s.collect(d, objects)
}

// listKind returns the objects of one kind, sorted by path. The pages of a list that is too
// old to be continued are read again as one.
func (s *Source) listKind(ctx context.Context, r resource) ([]source.File, error) {
	files, err := s.listPages(ctx, r, pageSize)
	if apierrors.IsResourceExpired(err) {
		files, err = s.listPages(ctx, r, 0)
	}
	if err != nil {
		return nil, resourceError("list", r, err)
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// pageSize is the number of objects in one response of a list.
const pageSize = 500

// listPages lists the objects of one kind in pages of size objects; zero means one page.
func (s *Source) listPages(ctx context.Context, r resource, size int64) ([]source.File, error) {
	var files []source.File
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return s.client.objects.Resource(r.gvr).Namespace(r.namespace).List(ctx, o)
	})
	pages.PageSize = size
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		object, ok := item.(*unstructured.Unstructured)
		if !ok {
			return errNotObject
		}
		file, err := r.file(object, s.o.Annotations...)
		files = append(files, file)
		progress.FromContext(ctx).Count(1, "objects read")
		return err
	})
	return files, err
}

// join returns all errors in one line, because they reach logs and the status; nil if none
// is missing. All missing permissions are named at once.
func join(errs []error) error {
	var joined error
	for _, err := range errs {
		switch {
		case err == nil:
		case joined == nil:
			joined = err
		default:
			joined = fmt.Errorf("%w; %w", joined, err)
		}
	}
	return joined
}

// causeOf returns why ctx ended if that is the reason of err.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}
