package git

import (
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// objectStore stores commits, tags, trees and blobs.
type objectStore = storer.EncodedObjectStorer

// maxMetadataBytes bounds one commit, tag or tree.
const maxMetadataBytes = 32 << 20

// checkedObjects verifies the hash of each commit, tag and tree: an object that was damaged
// on disk must not be taken for the signed one. Readers of blobs verify them, because they
// know the limit of the size.
type checkedObjects struct {
	storer.EncodedObjectStorer // completes the interface; its other methods are not called

	find func(plumbing.ObjectType, plumbing.Hash) (plumbing.EncodedObject, error)
}

// EncodedObject returns the object with the given hash. It returns
// plumbing.ErrObjectNotFound if no object of that kind has it, and another error if the object
// is too large or its content does not have the hash.
func (c checkedObjects) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	found, err := c.find(kind, hash)
	if err != nil {
		return nil, err
	}
	if kind != plumbing.AnyObject && found.Type() != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	if found.Type() == plumbing.BlobObject {
		return found, nil
	}
	if found.Size() > maxMetadataBytes {
		return nil, fmt.Errorf("%s %s exceeds the limit of %d bytes", found.Type(), hash, maxMetadataBytes)
	}
	content, err := readContent(found)
	if err != nil {
		return nil, err
	}
	if err := checkHash(found.Type(), content, hash); err != nil {
		return nil, err
	}
	checked := &plumbing.MemoryObject{}
	checked.SetType(found.Type())
	_, err = checked.Write(content)
	return checked, err
}

// readContent returns an error if the content does not have the size of the object.
func readContent(o plumbing.EncodedObject) ([]byte, error) {
	reader, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	content, err := io.ReadAll(io.LimitReader(reader, o.Size()+1))
	if err == nil && int64(len(content)) != o.Size() {
		err = fmt.Errorf("the content must have %d bytes", o.Size())
	}
	return content, err
}

func checkHash(kind plumbing.ObjectType, content []byte, want plumbing.Hash) error {
	if got := plumbing.ComputeHash(kind, content); got != want {
		return fmt.Errorf("%s %s is damaged: its content has the hash %s", kind, want, got)
	}
	return nil
}
