//! What all pictures have in common.

use std::collections::BTreeMap;

use skeptron_quorum::{Construction, Family, build};

use super::*;

fn system(text: &str, nodes: usize) -> System {
    let construction: Construction = text.parse().unwrap();
    build(&construction, construction.nodes().unwrap_or(nodes)).unwrap()
}

/// Of every kind, down to a single node and up to what barely fits.
fn systems() -> Vec<System> {
    let sized = ["singleton", "all", "majority", "grid", "cyclic", "wall"];
    let sized = sized.iter().flat_map(|name| [1, 2, 3, 5, 12, 30].map(|nodes| system(name, nodes)));
    let others = [
        "fano",
        "maekawa-13",
        "projective:2",
        "projective:3",
        "projective:5",
        "projective:7",
        "projective:11",
        "weighted:3,1,1,1,1",
        "weighted:0,7,1,3,3",
        "weighted:900,1,500",
        "wall:1,2,3,4",
        "wall:3,1,2",
        "tree:0",
        "tree:1",
        "tree:2",
        "tree:4",
        "tree:6",
        "hierarchical:0",
        "hierarchical:1",
        "hierarchical:2",
        "hierarchical:4",
    ];
    sized.chain(others.map(|text| system(text, 0))).collect()
}

fn highlights(system: &System) -> [Option<NodeId>; 3] {
    [None, Some(NodeId::new(0)), Some(NodeId::new(system.nodes() - 1))]
}

fn elements(svg: &str) -> BTreeMap<String, usize> {
    skeptron_markup::elements(svg).unwrap()
}

/// The class of each node that is drawn, and whether its number is there.
fn drawn(svg: &str) -> BTreeMap<usize, (String, bool)> {
    let mut nodes = BTreeMap::new();
    for group in svg.split("<g class=\"node ").skip(1) {
        let (class, rest) = group.split_once("\">\n<title>P").unwrap();
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let body = rest.split("</g>").next().unwrap();
        let has_number = body.contains(&format!(">{number}</text>"));
        let known = nodes.insert(number.parse().unwrap(), (class.to_string(), has_number));
        assert_eq!(known, None, "drawn twice");
    }
    nodes
}

fn numbers(nodes: impl IntoIterator<Item = NodeId>) -> Vec<usize> {
    nodes.into_iter().map(|node| node.index() + 1).collect()
}

fn is_quorum(system: &System, members: &[usize]) -> bool {
    let is_member = |node: NodeId| members.contains(&(node.index() + 1));
    match system.shape() {
        Shape::Gates(gates) => gates.is_live(is_member),
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
            quorums.iter().any(|quorum| numbers(quorum.iter().copied()) == members)
        }
    }
}

#[test]
fn every_picture_is_a_document_of_its_own() {
    for system in systems() {
        for picture in fitting(&system) {
            for node in highlights(&system) {
                let svg = svg(&system, picture, node).unwrap();
                let elements = elements(&svg);
                assert_eq!((elements["svg"], elements["desc"], elements["style"]), (1, 1, 1));
                assert!(svg.contains("role=\"img\"") && svg.contains("prefers-color-scheme:dark"));
                for outside in ["href", "url(", "@import", "<script"] {
                    assert!(!svg.contains(outside), "{outside}");
                }
                assert_eq!(super::svg(&system, picture, node).as_ref(), Ok(&svg));
            }
        }
    }
}

/// Every node is drawn once; the first quorum is exactly that of the node asked for, the second one a
/// quorum, too, and those drawn as common are.
#[test]
fn marks_are_the_members_of_two_quorums() {
    for system in systems() {
        for picture in fitting(&system).into_iter().filter(|&picture| picture != Picture::Matrix) {
            for node in highlights(&system) {
                let name = format!("{} as {picture}, {node:?}", system.name());
                let svg = svg(&system, picture, node).unwrap();
                let nodes = drawn(&svg);
                let voters = match form::votes(&system).filter(|_| picture == Picture::Votes) {
                    Some(gate) => gate.members.iter().filter(|member| member.weight > 0).count(),
                    None => system.nodes(),
                };
                assert_eq!(nodes.len(), voters, "{name}");
                assert!(
                    system.nodes() > 100
                        || picture == Picture::Votes
                        || nodes.values().all(|(_, has_number)| *has_number),
                    "{name}: without a number"
                );
                let of_class = |classes: &[&str]| -> Vec<usize> {
                    let those =
                        nodes.iter().filter(|(_, (class, _))| classes.contains(&&class[..]));
                    those.map(|(&number, _)| number).collect()
                };
                let (first, second) = (of_class(&["a", "both"]), of_class(&["b", "both"]));
                assert!(is_quorum(&system, &first), "{name}");
                if let Some(node) = node {
                    let own = system.assignment().of(node).iter().copied();
                    assert_eq!(first, numbers(own), "{name}");
                }
                if second.is_empty() {
                    let mut quorums = system.assignment().iter();
                    assert!(quorums.all(|quorum| numbers(quorum.iter().copied()) == first));
                } else {
                    assert!(is_quorum(&system, &second), "{name}");
                    assert_ne!(first, second, "{name}");
                    let common = of_class(&["both"]);
                    assert!(!common.is_empty(), "{name}");
                    let list: Vec<String> = common.iter().map(usize::to_string).collect();
                    let told = format!("= {{{}}}</text>", list.join(", "));
                    assert!(common.len() > 15 || svg.contains(&told), "{name}: {told}");
                }
            }
        }
    }
}

/// The numbers of an attribute of all elements.
fn attribute<'a>(svg: &'a str, name: &str) -> impl Iterator<Item = f64> + use<'a> {
    let start = format!(" {name}=\"");
    let values: Vec<&str> = svg.split(&start[..]).skip(1).collect();
    values.into_iter().filter_map(|rest| rest.split('"').next()?.parse().ok())
}

#[test]
fn nothing_is_cut_off() {
    for system in systems() {
        for picture in fitting(&system) {
            let svg = svg(&system, picture, None).unwrap();
            let size = |name| attribute(&svg, name).next().unwrap();
            let (width, height) = (size("width"), size("height"));
            let start = svg.find("translate(").unwrap() + "translate(".len();
            let moved: Vec<f64> =
                svg[start..].split([' ', ')']).take(2).map(|n| n.parse().unwrap()).collect();
            let (body, legend) = svg[start..].split_once("<g class=\"key").unwrap();
            for (names, moved, end) in
                [(["cx", "x"], moved[0], width), (["cy", "y"], moved[1], height)]
            {
                for at in names.iter().flat_map(|name| attribute(body, name)) {
                    assert!(at + moved >= 4.0 && at + moved <= end - 4.0, "{picture} {at}");
                }
            }
            assert!(attribute(legend, "cy").all(|y| y < height - 12.0));
            // Seven pixels for a character, in a wide font.
            for line in svg.lines().filter(|line| line.contains("class=\"dim\"")) {
                let text = line.split(['>', '<']).nth(2).unwrap();
                assert!((text.chars().count() * 7) as f64 <= width - 56.0, "{line}");
            }
        }
    }
}

#[test]
fn text_has_the_same_marks_and_fits_the_terminal() {
    let mut written = 0;
    for system in systems() {
        for picture in fitting(&system) {
            for node in highlights(&system) {
                let text = match text(&system, picture, node) {
                    Ok(text) => text,
                    Err(PictureError::TooLargeForText { .. }) => continue,
                    Err(error) => panic!("{error}"),
                };
                written += 1;
                let name = format!("{} as {picture}:\n{text}", system.name());
                assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}");
                assert!(text.lines().all(|line| line.trim_end() == line), "{name}");
                if picture == Picture::Matrix {
                    continue;
                }
                let body = text.rsplit_once("\n\n").unwrap().0;
                let mut first: Vec<usize> = body
                    .split(['[', '<'])
                    .skip(1)
                    .map(|rest| rest.split([']', '>']).next().unwrap().trim().parse().unwrap())
                    .collect();
                first.sort_unstable();
                first.dedup();
                let own = system.assignment().of(node.unwrap_or(NodeId::new(0)));
                if node.is_some() {
                    assert_eq!(first, numbers(own.iter().copied()), "{name}");
                }
                assert!(is_quorum(&system, &first), "{name}");
            }
        }
    }
    assert!(written > 300, "{written}");
}

#[test]
fn each_form_has_its_picture() {
    for (text, nodes, best) in [
        ("grid", 12, Picture::Grid),
        ("grid", 10_000, Picture::Grid),
        ("wall", 3, Picture::Wall),
        ("wall:1,2,3,4", 10, Picture::Wall),
        ("tree:1", 3, Picture::Tree),
        ("tree:7", 255, Picture::Tree),
        ("tree:8", 511, Picture::Matrix),
        ("hierarchical:1", 3, Picture::Hierarchy),
        ("hierarchical:2", 9, Picture::Hierarchy),
        ("majority", 3, Picture::Votes),
        ("singleton", 4, Picture::Votes),
        ("weighted:3,1,1", 3, Picture::Votes),
        ("fano", 7, Picture::Plane),
        ("projective", 133, Picture::Plane),
        ("cyclic", 7, Picture::Plane),
        ("cyclic", 12, Picture::Circle),
        ("cyclic", 5_000, Picture::Matrix),
    ] {
        let system = system(text, nodes);
        assert_eq!(best_for(&system), best, "{text} {nodes}");
        assert!(svg(&system, best, None).is_ok(), "{text} {nodes}");
        assert!(fits(&system, best).is_ok(), "{text} {nodes}");
    }
}

#[test]
fn errors_name_cause_and_remedy() {
    let message =
        |text, nodes, picture| svg(&system(text, nodes), picture, None).unwrap_err().to_string();
    assert_eq!(
        message("fano", 7, Picture::Wall),
        "`fano` cannot be drawn as wall; take matrix, plane or circle"
    );
    assert_eq!(
        message("cyclic", 12, Picture::Plane),
        "`cyclic` cannot be drawn as plane; take matrix or circle"
    );
    assert_eq!(
        message("tree:8", 511, Picture::Tree),
        "the picture `tree` has room for trees of height 7; take matrix, which has room for all"
    );
    assert_eq!(
        text(&system("cyclic", 61), Picture::Matrix, None).unwrap_err().to_string(),
        "as text there is room for a matrix of 60 nodes; draw this one as SVG"
    );
    assert_eq!(
        text(&system("grid", 9), Picture::Grid, Some(NodeId::new(9))).unwrap_err().to_string(),
        "there is no P10 to show the quorum of, only P1 to P9"
    );
    assert_eq!(
        "squares".parse::<Picture>().unwrap_err().to_string(),
        "there is no picture named `squares`; there are matrix, grid, wall, tree, hierarchy, \
         triangle, plane, circle or votes"
    );
    for picture in Picture::ALL {
        assert_eq!(picture.to_string().parse(), Ok(picture));
    }
}

#[test]
fn a_name_is_no_markup() {
    let sets = [[0, 1], [1, 2], [0, 2]].map(|set| set.map(NodeId::new).to_vec());
    let name = "<b>\"&\u{1}.json";
    let system = Family::assigned(sets.to_vec(), 3).unwrap().system(name).unwrap();
    let svg = svg(&system, Picture::Circle, None).unwrap();
    elements(&svg);
    assert_eq!(svg.matches("&lt;b&gt;&quot;&amp;\u{fffd}.json: 3 nodes").count(), 2);
}

#[test]
fn planes_are_known_by_their_lines() {
    for nodes in 1..=75 {
        let cyclic = system("cyclic", nodes);
        let quorums: Vec<&[NodeId]> = cyclic.assignment().iter().collect();
        let common = |a: &[NodeId], b: &[NodeId]| a.iter().filter(|node| b.contains(node)).count();
        let pairs = || (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j)));
        let is_plane =
            nodes > 1 && pairs().all(|(i, j)| common(quorums[i], quorums[j]) == 1) && nodes > 2;
        assert_eq!(form::plane_order(&cyclic).is_some(), is_plane, "{nodes}");
    }
    assert_eq!(form::plane_order(&system("maekawa-13", 13)), Some(3));
    assert_eq!(form::plane_order(&system("grid", 9)), None);
}

#[test]
fn a_large_matrix_is_a_picture_of_densities() {
    let svg = |nodes| svg(&system("cyclic", nodes), Picture::Matrix, None).unwrap();
    assert_eq!(svg(200).matches("class=\"own\"").count(), 200);
    assert!(!svg(200).contains("A cell is"));
    assert!(svg(201).contains("A cell is 2 × 2 nodes"));
    assert!(svg(10_000).contains("A cell is 50 × 50 nodes"));
}

/// A dot for each member, in the row of its quorum.
#[test]
fn a_matrix_has_a_dot_for_each_member() {
    for system in [system("maekawa-13", 13), system("grid", 12), system("wall", 20)] {
        let svg = svg(&system, Picture::Matrix, None).unwrap();
        let rows = svg.lines().filter(|line| line.starts_with("<path class=\"dots"));
        let dots: Vec<usize> = rows.map(|row| row.matches('Z').count()).collect();
        let sizes: Vec<usize> = system.assignment().iter().map(<[NodeId]>::len).collect();
        assert_eq!(dots, sizes);
        let text = text(&system, Picture::Matrix, None).unwrap();
        let dots = text.matches(['●', '◉']).count();
        assert_eq!(dots, sizes.iter().sum::<usize>());
    }
}

/// As they are printed.
mod golden {
    use super::*;

    /// What is drawn best, with the quorum of this node, counted from 1.
    fn check(name: &str, nodes: usize, highlight: usize, lines: &[&str]) {
        let system = system(name, nodes);
        let node = Some(NodeId::new(highlight - 1));
        let drawn = text(&system, best_for(&system), node).unwrap();
        assert_eq!(drawn.lines().collect::<Vec<_>>(), lines, "\n{drawn}");
    }

    #[test]
    fn a_grid_with_a_short_last_row() {
        check(
            "grid",
            11,
            5,
            &[
                "< 1>( 2)( 3)( 4)",
                "[ 5][ 6][ 7]< 8>",
                "[ 9] 10  11",
                "",
                "[ ] S₅ = {1, 5, 6, 7, 8, 9}",
                "( ) S₄ = {1, 2, 3, 4, 8}",
                "< > S₅ ∩ S₄ = {1, 8}",
            ],
        );
    }

    #[test]
    fn a_wall() {
        check(
            "wall:1,2,3",
            6,
            1,
            &[
                "   [1]",
                " [2] 3",
                "<4>(5)(6)",
                "",
                "[ ] S₁ = {1, 2, 4}",
                "( ) S₄ = {4, 5, 6}",
                "< > S₁ ∩ S₄ = {4}",
            ],
        );
    }

    #[test]
    fn a_tree_without_its_root() {
        check(
            "tree:2",
            7,
            5,
            &[
                "       [1]",
                "    ┌───┴───┐",
                "   <2>     (3)",
                "  ┌─┴─┐   ┌─┴─┐",
                " (4) [5] (6)  7",
                "",
                "[ ] S₅ = {1, 2, 5}",
                "( ) Q = {2, 3, 4, 6}, without the root",
                "< > S₅ ∩ Q = {2}",
            ],
        );
    }

    #[test]
    fn a_hierarchy() {
        check(
            "hierarchical:2",
            9,
            1,
            &[
                "2 of 3",
                "├─ 2 of 3 <1> [2] (3)",
                "├─ 2 of 3 [4] [5]  6",
                "└─ 2 of 3 (7) (8)  9",
                "",
                "[ ] S₁ = {1, 2, 4, 5}",
                "( ) Q = {1, 3, 7, 8}",
                "< > S₁ ∩ Q = {1}",
            ],
        );
    }

    #[test]
    fn a_plane() {
        check(
            "fano",
            7,
            2,
            &[
                "S₁ (1)[2] 4",
                "S₂ [2][3]<5>",
                "S₃ [3] 4 (6)",
                "S₄  4 <5> 7",
                "S₅ (1)<5>(6)",
                "S₆ [2](6) 7",
                "S₇ (1)[3] 7",
                "",
                "[ ] S₂ = {2, 3, 5}",
                "( ) S₅ = {1, 5, 6}",
                "< > S₂ ∩ S₅ = {5}",
            ],
        );
    }

    #[test]
    fn votes() {
        check(
            "weighted:3,1,1,1,0",
            5,
            2,
            &[
                "<1> ███ 3",
                "[2] █ 1",
                "(3) █ 1",
                " 4  █ 1",
                " 5   0",
                "    4 of 6 votes are enough",
                "    S₂ has 4",
                "    S₃ has 4",
                "",
                "[ ] S₂ = {1, 2}",
                "( ) S₃ = {1, 3}",
                "< > S₂ ∩ S₃ = {1}",
            ],
        );
    }

    #[test]
    fn a_matrix() {
        let singleton = system("singleton", 3);
        assert_eq!(
            text(&singleton, Picture::Matrix, Some(NodeId::new(1))).unwrap(),
            "    1 2 3\n\
             S₁  ◉ · ·  1\n\
             S₂  ● ○ ·  1  [ ]\n\
             S₃  ● · ○  1\n    \
                 3 0 0  degree\n\n\
             [ ] S₂ = {1}\n"
        );
    }
}
