import Foundation

/// Where to look for changes of the file at a path: the folders, and the names in them, that say which file that is.
///
/// That is the file's own folder, because editors write a new file and rename it over the old one; the folder of every link on
/// the way, because links are replaced, too (Kubernetes swaps a whole folder behind one); and when a part of the path does not
/// exist, the folder that it would appear in.
struct WatchPoints: Hashable {
    /// The names to look for, by folder.
    private(set) var namesByFolder: [String: Set<String>] = [:]

    init(path: String) {
        let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        var folder = ""
        var remaining = Self.components(absolute)
        // As many links as Linux follows, path_resolution(7).
        var linksLeft = 40
        while let name = remaining.popLast() {
            if name == ".." {
                folder = Self.parent(of: folder)
                continue
            }
            let candidate = "\(folder)/\(name)"
            var status = stat()
            guard lstat(candidate, &status) == 0 else {
                add(name, in: folder)
                return
            }
            if status.st_mode & S_IFMT == S_IFLNK {
                add(name, in: folder)
                linksLeft -= 1
                guard linksLeft > 0, let target = Self.target(ofLinkAt: candidate) else { return }
                if target.hasPrefix("/") { folder = "" }
                remaining += Self.components(target)
            } else if remaining.isEmpty {
                add(name, in: folder)
            } else {
                folder = candidate
            }
        }
    }

    private mutating func add(_ name: String, in folder: String) {
        namesByFolder[folder.isEmpty ? "/" : folder, default: []].insert(name)
    }

    /// The parts of a path, the last one first.
    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").map(String.init).filter { $0 != "." }.reversed()
    }

    private static func parent(of folder: String) -> String {
        String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
    }

    private static func target(ofLinkAt path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.bindMemory(to: CChar.self).baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
